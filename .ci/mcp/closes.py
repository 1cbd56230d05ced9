"""Opens and closes sessions with the official Python SDK: `closes.py COUNT COMMAND...`."""
import asyncio
import sys

from mcp import Client, StdioServerParameters

count, command = int(sys.argv[1]), sys.argv[2:]


async def session():
    async with Client(StdioServerParameters(command=command[0], args=command[1:]), mode="legacy"):
        pass


async def main():
    for _ in range(count // 10):
        await asyncio.gather(*[session() for _ in range(10)])


asyncio.run(main())
