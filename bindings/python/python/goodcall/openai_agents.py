"""The OpenAI Agents SDK: tools whose arguments are judged before they run.

>>> agent = Agent(name="files", tools=good(tools))  # doctest: +SKIP
"""

from __future__ import annotations

import dataclasses
from typing import Any, Iterable, overload

from agents import FunctionTool

from ._checker import Checker
from ._tools import Policy


@overload
def good(tools: FunctionTool, *, policy: Policy | None = None, style: str | None = None) -> FunctionTool: ...
@overload
def good(tools: Iterable[Any], *, policy: Policy | None = None, style: str | None = None) -> list[Any]: ...
def good(tools: Any, *, policy: Policy | None = None, style: str | None = None) -> Any:
    """Returns the tool, or the list of tools, with arguments judged. Hosted tools stay as they are."""
    checker = Checker(policy, style)
    if isinstance(tools, FunctionTool):
        return _good(tools, checker)
    return [_good(tool, checker) if isinstance(tool, FunctionTool) else tool for tool in tools]


def _good(tool: FunctionTool, checker: Checker) -> FunctionTool:
    inner = tool.on_invoke_tool
    schema = _relaxed(tool.params_json_schema) if tool.strict_json_schema else tool.params_json_schema

    async def invoke(context: Any, arguments: str) -> Any:
        verdict = checker.check(tool.name, schema, arguments)
        return await inner(context, verdict.json or "{}") if verdict else verdict.text

    return dataclasses.replace(tool, on_invoke_tool=invoke)


def _relaxed(schema: Any) -> Any:
    """Returns a strict schema without what strictness adds: there every property is required, though
    the function has a default for it."""
    if isinstance(schema, list):
        return [_relaxed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: _relaxed(value) for key, value in schema.items()}
    properties = schema.get("properties")
    if isinstance(properties, dict) and isinstance(schema.get("required"), list):
        schema["required"] = [name for name in schema["required"] if not _may_miss(properties.get(name))]
    return schema


def _may_miss(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    kinds = [schema.get("type"), *(one.get("type") for one in schema.get("anyOf", []))]
    return "default" in schema or "null" in kinds
