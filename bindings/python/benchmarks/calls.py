"""The calls that every program is given."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

ROOT = pathlib.Path(__file__).parents[3]
#: Python types from schemas, and the same peers in other languages' benchmark.
PEERS = ROOT / "benches/peers/python.py"
TRAPS = ROOT / "benches/peers/traps.json"
CALLS = ROOT / "crates/goodcall-core/benches/calls.jsonl"


@dataclass(frozen=True)
class Sample:
    """A call of a tool: the text, and the values that it stands for."""

    tool: str
    schema: dict[str, Any]
    raw: str
    meant: Any


def peers() -> ModuleType:
    """Returns the module that makes types from schemas."""
    spec = importlib.util.spec_from_file_location("peers", PEERS)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def definitions() -> list[dict[str, Any]]:
    """Returns the tools that are called."""
    return [{"name": row["name"], "parameters": row["schema"]} for row in rows()]


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CALLS.read_text(encoding="utf-8").splitlines()]


def valid() -> list[Sample]:
    """Returns valid calls, as a model writes them."""
    return [Sample(row["name"], row["schema"], json.dumps(call, ensure_ascii=False), call)
            for row in rows() for call in row["valid"]]


def broken() -> list[Sample]:
    """Returns the same calls, each with one or two of the defects that are seen most."""
    made = []
    for number, one in enumerate(valid()):
        breaks = BREAKS[number % len(BREAKS)]
        made.append(Sample(one.tool, one.schema, breaks(one), one.meant))
    return made


def trailing_comma(one: Sample) -> str:
    return one.raw[:-1] + ",}"


def python_dictionary(one: Sample) -> str:
    return repr(one.meant)


def fence(one: Sample) -> str:
    return f"```json\n{one.raw}\n```"


def bare_keys(one: Sample) -> str:
    raw = one.raw
    for key in one.meant:
        raw = raw.replace(f'"{key}": ', f"{key}: ", 1)
    return raw


def comment(one: Sample) -> str:
    return one.raw.replace(", ", ",  // as asked\n", 1) if ", " in one.raw else one.raw[:-1] + " /* all */}"


def encoded_twice(one: Sample) -> str:
    return json.dumps(one.raw, ensure_ascii=False)


BREAKS = (trailing_comma, python_dictionary, fence, bare_keys, comment, encoded_twice)
