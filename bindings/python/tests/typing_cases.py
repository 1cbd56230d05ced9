"""What type checkers must accept, and infer. It is checked, not run."""

from __future__ import annotations

import dataclasses
from typing import Any

import goodcall
from typing_extensions import assert_type


@dataclasses.dataclass
class ReadFile:
    path: str


@goodcall.tool
def add(a: int, b: int = 1) -> int:
    return a + b


@goodcall.tool(name="twice")
def double(a: int) -> int:
    return 2 * a


tools = goodcall.Tools([ReadFile, add], policy="safe")
verdict = tools.check("ReadFile", "{}")
assert_type(verdict, goodcall.Verdict)
assert_type(verdict.model(ReadFile), ReadFile)
assert_type(verdict.arguments, "dict[str, Any] | None")
assert_type(add(1, b=2), int)
assert_type(double(1), int)
assert_type(goodcall.Toolbox([add, double]).call("add", "{}"), goodcall.Result)
assert_type(tools.extract("").calls, "list[goodcall.Call]")
assert_type(goodcall.Stream(tools).finish(), "list[goodcall.Update]")
