"""Cancels a call with the official Python SDK: `cancel.py MODE URL` or `cancel.py MODE -- COMMAND`.

MODE is `legacy` or `auto`. The server is `server.py`, whose tool `wait` notes in a file what becomes of it.
Fails unless the cancellation reaches the tool while it waits.
"""
import asyncio
import pathlib
import sys
import tempfile
import time

from mcp import Client, StdioServerParameters


async def noted(file, words):
    """Waits until the last word in the file is one of these, and returns it."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        last = (file.read_text().split() or [""])[-1]
        if last in words:
            return last
        await asyncio.sleep(0.05)
    raise SystemExit(f"FAILED: the tool noted {file.read_text()!r}, expected one of {words}")


async def main(mode, target):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "noted"
        file.touch()
        async with Client(target, mode=mode, cache=None) as client:
            call = asyncio.create_task(client.call_tool("wait", {"path": str(file), "seconds": 8}))
            await noted(file, ["began"])
            call.cancel()
            ended = await noted(file, ["cancelled", "finished"])
            # The session goes on.
            answer = await client.call_tool("add", {"a": 1, "b": 2})
            assert answer.structured_content == {"result": 3}, answer
            if ended != "cancelled":
                raise SystemExit("FAILED: the call went on after it was cancelled")
            print(client.protocol_version)


if __name__ == "__main__":
    mode, rest = sys.argv[1], sys.argv[2:]
    target = rest[0] if rest[0] != "--" else StdioServerParameters(command=rest[1], args=rest[2:])
    asyncio.run(main(mode, target))
