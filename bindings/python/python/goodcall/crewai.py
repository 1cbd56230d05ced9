"""CrewAI: hooks around its tool calls, for all crews of the process.

>>> with Goodcall():  # doctest: +SKIP
...     crew.kickoff()

CrewAI parses arguments before its hooks see them: broken JSON is refused by CrewAI itself in the
native loop, and in its text loop JSON that was cut off is closed. The transport below the model's client
sees the text.
"""

from __future__ import annotations

from typing import Any

from crewai import hooks

from ._checker import Checker
from ._tools import Policy


class Goodcall:
    """Judges the input of calls between ``register`` and ``unregister``, or inside a ``with`` block."""

    def __init__(self, *, policy: Policy | None = None, style: str | None = None) -> None:
        self._checker = Checker(policy, style)
        self._told: dict[int, str] = {}

    def before(self, context: Any) -> bool | None:
        """Mends the input in place, or blocks the call."""
        schema = getattr(context.tool, "args_schema", None)
        if schema is None:
            return None
        verdict = self._checker.check(context.tool_name, schema.model_json_schema(), dict(context.tool_input))
        if not verdict:
            self._told[id(context.tool_input)] = verdict.text
            return False
        if verdict.kind == "mended":
            context.tool_input.clear()
            context.tool_input.update(verdict.arguments)
        return None

    def after(self, context: Any) -> str | None:
        """Says why a call was blocked."""
        return self._told.pop(id(context.tool_input), None)

    def register(self) -> None:
        """Adds the hooks."""
        hooks.register_before_tool_call_hook(self.before)
        hooks.register_after_tool_call_hook(self.after)

    def unregister(self) -> None:
        """Takes the hooks away."""
        hooks.unregister_before_tool_call_hook(self.before)
        hooks.unregister_after_tool_call_hook(self.after)

    def __enter__(self) -> Goodcall:
        self.register()
        return self

    def __exit__(self, *error: Any) -> None:
        self.unregister()
