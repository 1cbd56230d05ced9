import json

import pytest

pytest.importorskip("mcp.server.mcpserver")

from mcp import Client
from mcp.server.mcpserver import MCPServer
from scripted import SIX, compare, documented, first_words, table


async def call(server, arguments):
    ran = []

    @server.tool()
    def save(path: str, tags: list[str], limit: int = 10) -> str:
        ran.append({"path": path, "tags": tags, "limit": limit})
        return "saved"

    async with Client(server) as client:
        result = await client.call_tool("save", arguments)
    told = "".join(part.text for part in result.content)
    return ran, told if result.is_error else None


async def test_six_calls():
    rows = []
    for name, (raw, meant) in SIX.items():
        try:
            arguments = json.loads(raw)
        except ValueError:
            continue
        before = await call(MCPServer("files"), arguments)
        after = await call(documented("mcp")["server"], arguments)
        if meant is None:
            assert after[0] == [] and "not run" in after[1], after
        else:
            assert after == ([{"limit": 10, **meant}], None), after
        rows.append((name, shown(before), shown(after)))
    compare("mcp", table(rows))


def shown(outcome):
    ran, told = outcome
    if ran:
        values = {key: value for key, value in ran[0].items() if (key, value) != ("limit", 10)}
        return f"runs with `{json.dumps(values)}`"
    return f"refused: {first_words(told)}"
