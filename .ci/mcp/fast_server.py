"""A FastMCP server whose schemas have unions, recursion, formats and enums."""
from __future__ import annotations

from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import Annotated, Literal, Union
from uuid import UUID

from fastmcp import FastMCP
from pydantic import BaseModel, Field

mcp = FastMCP("fast")


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str] = []


class Node(BaseModel):
    name: str
    children: list[Node] = []


class Color(Enum):
    red = "red"
    deep_blue = "deep-blue"


@mcp.tool
def add(a: int, b: int = 1) -> int:
    return a + b


@mcp.tool
def pet(animal: Annotated[Union[Cat, Dog], Field(discriminator="kind")]) -> dict:
    return animal.model_dump()


@mcp.tool
def any_pet(animal: Union[Cat, Dog, str, None] = None) -> str:
    return repr(animal)


@mcp.tool
def depth(tree: Node) -> int:
    def below(node):
        return 1 + max([below(child) for child in node.children], default=0)

    return below(tree)


@mcp.tool
def when(
    at: datetime,
    on: date | None = None,
    hour: time | None = None,
    wait: timedelta | None = None,
    id: UUID | None = None,
) -> str:
    return f"{at.isoformat()} {on} {hour} {wait} {id}"


@mcp.tool
def paint(
    color: Color,
    coats: int | float = 1,
    tags: set[str] = set(),
    size: tuple[int, int] | None = None,
    options: dict[str, int] = {},
) -> str:
    return f"{color.value} {coats} {sorted(tags)} {size} {options}"


@mcp.tool(annotations={"destructiveHint": True})
def wipe(path: str, dry_run: bool = True) -> str:
    return f"{path} {dry_run}"


if __name__ == "__main__":
    mcp.run(show_banner=False)
