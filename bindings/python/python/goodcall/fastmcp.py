"""FastMCP: a middleware for servers.

>>> server = FastMCP("files", middleware=[Goodcall()])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import Middleware

from ._checker import Checker
from ._tools import Policy


class Goodcall(Middleware):  # type: ignore[misc, unused-ignore]
    """Judges the arguments of a call before FastMCP validates them."""

    def __init__(self, *, policy: Policy | None = None, style: str | None = None) -> None:
        super().__init__()
        self._checker = Checker(policy, style)

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        call = context.message
        tool = await context.fastmcp_context.fastmcp.get_tool(call.name)
        if tool is None:
            return await call_next(context)
        hint = getattr(tool.annotations, "destructiveHint", None) or getattr(tool.annotations, "destructive_hint", None)
        verdict = self._checker.check(call.name, tool.parameters, call.arguments or {}, destructive=hint is True)
        if not verdict:
            raise ToolError(verdict.text)
        if verdict.kind == "mended":
            context = context.copy(message=call.model_copy(update={"arguments": verdict.arguments}))
        return await call_next(context)
