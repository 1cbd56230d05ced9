"""Tools from Python types, and arguments as instances of them."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import sys
import typing
from typing import Annotated, Any, Literal, Optional, TypedDict

import goodcall
import pytest


class Mode(enum.Enum):
    TEXT = "text"
    BINARY = "binary"


@dataclasses.dataclass
class Edit:
    """One edit."""

    old: str
    new: str = ""


@dataclasses.dataclass
class EditFile:
    path: str
    edits: list[Edit]
    mode: Mode = Mode.TEXT
    since: Optional[datetime.date] = None


class Search(TypedDict, total=False):
    query: typing.Required[str] if sys.version_info >= (3, 11) else str
    limit: int


@dataclasses.dataclass
class Node:
    name: str
    children: list[Node]


def find(
    query: str,
    limit: Annotated[int, "How many", {"maximum": 50}] = 10,
    kinds: list[Literal["file", "folder"]] | None = None,
    where: dict[str, int] = {},
    **more: Any,
) -> str:
    """Finds things.

    Args:
        query: What to look for, in
            plain words.
        kinds (list): Which kinds.

    Returns:
        What was found.
    """
    return query


def test_functions_with_hints_are_tools():
    tools = goodcall.Tools([find])
    definition, = tools.definitions("anthropic")
    assert definition["description"] == "Finds things."
    schema = definition["input_schema"]
    assert schema["required"] == ["query"]
    assert schema["properties"] == {
        "query": {"type": "string", "description": "What to look for, in plain words."},
        "limit": {"type": "integer", "description": "How many", "maximum": 50, "default": 10},
        "kinds": {"anyOf": [{"type": "array", "items": {"type": "string", "enum": ["file", "folder"]}},
                            {"type": "null"}], "description": "Which kinds.", "default": None},
        "where": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    verdict = tools.check("find", '{"query": "x", "kinds": "[\\"file\\"]", "limit": "3"}')
    assert verdict.arguments == {"query": "x", "kinds": ["file"], "limit": 3}


def test_dataclasses_are_tools_and_results():
    tools = goodcall.Tools(EditFile)
    raw = '{"path": "a", "edits": "[{\\"old\\": \\"x\\"}]", "mode": "Binary", "since": "2026-01-02"}'
    made = tools.check("EditFile", raw).model(EditFile)
    assert made == EditFile("a", [Edit("x")], Mode.BINARY, datetime.date(2026, 1, 2))
    with pytest.raises(goodcall.BadCall) as caught:
        tools.check("EditFile", "{}").model(EditFile)
    assert caught.value.verdict.reason == "wrong_shape" and "path" in str(caught.value)


def test_typed_dicts_are_tools_and_results():
    tools = goodcall.Tools([Search])
    assert tools.check("Search", '{"query": "x", "limit": "3"}').model(Search) == {"query": "x", "limit": 3}
    assert tools.check("Search", '{"limit": 3}').ok is (sys.version_info < (3, 11))


def test_types_that_contain_themselves_are_definitions():
    tools = goodcall.Tools(Node)
    raw = '{"name": "a", "children": [{"name": "b", "children": "[]"}]}'
    assert tools.check("Node", raw).model(Node) == Node("a", [Node("b", [])])


def test_pydantic_models_are_tools_and_results():
    pydantic = pytest.importorskip("pydantic")

    class ReadFile(pydantic.BaseModel):
        """Reads a file."""

        path: str
        limit: int = pydantic.Field(100, ge=1, le=2000)
        seen: set[int] = set()

    tools = goodcall.Tools([ReadFile])
    assert tools.definitions()[0]["function"]["description"] == "Reads a file."
    made = tools.check("ReadFile", '{"path": "a", "limit": "20", "seen": [1, 1]}')
    assert made.model(ReadFile) == ReadFile(path="a", limit=20, seen={1}) if made else made.issues
    assert tools.check("ReadFile", '{"path": "a", "limit": 0}').issues[0].code == "too_small"

    def both(file: ReadFile, when: datetime.datetime) -> str:
        assert isinstance(file, ReadFile) and isinstance(when, datetime.datetime)
        return file.path

    box = goodcall.Toolbox([both])
    result = box.call("both", '{"file": {"path": "p"}, "when": "2026-01-02T03:04:05Z"}')
    assert result.ok and result.value == "p"


def test_msgspec_structs_are_tools_and_results():
    msgspec = pytest.importorskip("msgspec")

    class ReadFile(msgspec.Struct):
        path: str
        limit: int = 100

    tools = goodcall.Tools([ReadFile])
    assert tools.check("ReadFile", '{"path": "a", "limit": "20"}').model(ReadFile) == ReadFile("a", 20)


def test_what_has_no_schema_is_refused_with_its_name():
    def takes_object(thing: object) -> None: ...
    def by_position(a: int, /) -> None: ...
    def unknown(a: "NoSuchType") -> None: ...  # noqa: F821

    @dataclasses.dataclass
    class Unknown:
        a: "NoSuchType"  # noqa: F821

    for function, word in ((takes_object, "object"), (by_position, "position"), (unknown, "NoSuchType"),
                           (Unknown, "NoSuchType")):
        with pytest.raises(goodcall.ToolsError, match=word):
            goodcall.Tools([function])


def test_a_model_without_a_schema_is_refused_with_its_name():
    pydantic = pytest.importorskip("pydantic")

    class Caller(pydantic.BaseModel):
        call: typing.Callable[[], None]

    with pytest.raises(goodcall.ToolsError, match="Caller"):
        goodcall.Tools([Caller])


def test_arguments_that_a_model_itself_does_not_take_are_an_input_error():
    pydantic = pytest.importorskip("pydantic")

    class Even(pydantic.BaseModel):
        number: int

        @pydantic.field_validator("number")
        @classmethod
        def is_even(cls, number):
            if number % 2:
                raise ValueError("must be even")
            return number

    verdict = goodcall.Tools([Even]).check("Even", '{"number": "3"}')
    with pytest.raises(goodcall.InputError, match="must be even") as caught:
        verdict.model(Even)
    assert isinstance(caught.value.__cause__, pydantic.ValidationError)
