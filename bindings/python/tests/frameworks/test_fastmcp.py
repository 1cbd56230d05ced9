import json

import pytest

fastmcp = pytest.importorskip("fastmcp")

from scripted import SIX, compare, documented, first_words, table


async def call(server, arguments):
    ran = []

    def save(path: str, tags: list[str], limit: int = 10) -> str:
        ran.append({"path": path, "tags": tags, "limit": limit})
        return "saved"

    server.tool(save)
    async with fastmcp.Client(server) as client:
        result = await client.call_tool("save", arguments, raise_on_error=False)
    told = "".join(part.text for part in result.content)
    return ran, told if result.is_error else None


async def test_six_calls():
    rows = []
    for name, (raw, meant) in SIX.items():
        try:
            arguments = json.loads(raw)
        except ValueError:
            # A client of MCP sends values: what is not JSON fails there.
            continue
        before = await call(fastmcp.FastMCP("files"), arguments)
        after = await call(documented("fastmcp")["server"], arguments)
        if meant is None:
            assert after[0] == [] and "not run" in after[1], after
        else:
            assert after == ([{"limit": 10, **meant}], None), after
        rows.append((name, shown(before), shown(after)))
    compare("fastmcp", table(rows))


def shown(outcome):
    ran, told = outcome
    if ran:
        values = {key: value for key, value in ran[0].items() if (key, value) != ("limit", 10)}
        return f"runs with `{json.dumps(values)}`"
    return f"refused: {first_words(told)}"
