"""A server made with the official Python SDK, with many kinds of tools, a resource and a prompt."""
import asyncio
import pathlib
import sys
from typing import Annotated, Literal, Optional

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer("everyday", log_level="ERROR")


class Point(BaseModel):
    x: int
    y: int


class Edit(BaseModel):
    old_text: str
    new_text: str


class Weather(BaseModel):
    city: str
    celsius: float


@server.tool()
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@server.tool()
def join(words: list[str], separator: Optional[str] = None) -> str:
    """Join words."""
    return (separator or " ").join(words)


@server.tool()
def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> Weather:
    """The weather of a city."""
    return Weather(city=city, celsius=21.5)


@server.tool()
def edit_file(file_path: str, edits: list[Edit], dry_run: bool = False) -> str:
    """Edit a file."""
    return f"{file_path}: {len(edits)} edits, dry run {dry_run}"


@server.tool()
def move(point: Point, by: Point) -> Point:
    """Move a point."""
    return Point(x=point.x + by.x, y=point.y + by.y)


@server.tool()
def exact(number: int) -> str:
    """Say a whole number of any size."""
    return str(number)


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def wipe(count: int) -> str:
    """Delete records."""
    return f"{count} deleted"


@server.tool()
def ping_all() -> str:
    """Takes nothing."""
    return "pong"


@server.tool()
def region(name: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})], size: int = 1) -> str:
    """A tool with a mirrored argument."""
    return f"{name} {size}"


@server.tool()
async def slow(steps: int, ctx: Context) -> str:
    """Works in steps and tells of them."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps)
    return "done"


@server.tool()
async def wait(path: str, seconds: int) -> str:
    """Waits, and notes in a file what becomes of the call."""
    file = pathlib.Path(path)
    file.write_text("began")
    try:
        await asyncio.sleep(seconds)
        file.write_text("finished")
        return "done"
    except asyncio.CancelledError:
        file.write_text("cancelled")
        raise


@server.tool()
def fails() -> str:
    """Always fails."""
    raise ValueError("no luck")


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"the note {name}"


@server.prompt()
def greet(who: str) -> str:
    """A greeting."""
    return f"Say hello to {who}."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
