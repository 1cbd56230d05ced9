"""Strands: a hook provider.

>>> agent = Agent(model=model, tools=tools, hooks=[Goodcall()])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from strands.hooks import BeforeToolCallEvent, HookProvider, HookRegistry

from ._checker import Checker
from ._tools import Policy


class Goodcall(HookProvider):  # type: ignore[misc, unused-ignore]
    """Judges the input of a call before its tool gets it."""

    def __init__(self, *, policy: Policy | None = None, style: str | None = None) -> None:
        self._checker = Checker(policy, style)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self._before)

    def _before(self, event: Any) -> None:
        tool, use = event.selected_tool, event.tool_use
        if tool is None:
            return
        schema = tool.tool_spec["inputSchema"]
        verdict = self._checker.check(use["name"], schema.get("json", schema), use["input"])
        if not verdict:
            event.cancel_tool = verdict.text
        elif verdict.kind == "mended":
            use["input"] = verdict.arguments
