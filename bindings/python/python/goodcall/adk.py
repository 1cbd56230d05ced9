"""Google's ADK: a plugin for ``Runner`` and ``App``, or a callback for one agent.

>>> runner = Runner(app_name="a", agent=agent, plugins=[Goodcall()], …)  # doctest: +SKIP
>>> agent = LlmAgent(…, before_tool_callback=Goodcall().before_tool)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from google.adk.plugins.base_plugin import BasePlugin

from ._checker import Checker
from ._tools import Policy


class Goodcall(BasePlugin):  # type: ignore[misc, unused-ignore]
    """Judges the arguments of a call before its tool gets them."""

    def __init__(self, *, policy: Policy | None = None, style: str | None = None) -> None:
        super().__init__(name="goodcall")
        self._checker = Checker(policy, style)

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> Any:
        return self.before_tool(tool, tool_args, tool_context)

    def before_tool(self, tool: Any, args: dict[str, Any], tool_context: Any) -> dict[str, Any] | None:
        """Mends the arguments in place, or returns what the model reads instead of a result."""
        declaration = tool._get_declaration()
        if declaration is None:
            return None
        verdict = self._checker.check(tool.name, _schema(declaration), args)
        if not verdict:
            return {"error": verdict.text}
        if verdict.kind == "mended":
            args.clear()
            args.update(verdict.arguments or {})
        return None


def _schema(declaration: Any) -> Any:
    schema = getattr(declaration, "parameters_json_schema", None)
    if schema is not None:
        return schema
    if declaration.parameters is None:
        return {"type": "object", "properties": {}}
    return declaration.parameters.model_dump(mode="json", by_alias=True, exclude_none=True)
