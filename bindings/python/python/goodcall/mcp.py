"""The MCP SDK: a middleware for servers.

>>> server.middleware.append(Goodcall(schemas))  # doctest: +SKIP

``schemas`` maps the names of tools to their input schemas; for an ``MCPServer`` use ``guard(server)``,
which knows them.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Awaitable, Callable, Mapping, TypeVar

from mcp.types import CallToolResult, TextContent

from ._checker import Checker
from ._tools import Policy

S = TypeVar("S")
Schemas = Mapping[str, Any] | Callable[[], Awaitable[Mapping[str, Any]]]


class Goodcall:
    """Judges the arguments of ``tools/call`` before the server validates them."""

    def __init__(self, schemas: Schemas, *, policy: Policy | None = None, style: str | None = None) -> None:
        self._schemas = schemas
        self._checker = Checker(policy, style)

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        params = ctx.params
        if ctx.method != "tools/call" or not isinstance(params, Mapping):
            return await call_next(ctx)
        schemas = await self._schemas() if callable(self._schemas) else self._schemas
        name = str(params.get("name"))
        if name not in schemas:
            return await call_next(ctx)
        verdict = self._checker.check(name, schemas[name], params.get("arguments") or {})
        if not verdict:
            return CallToolResult(content=[TextContent(type="text", text=verdict.text)], is_error=True)
        return await call_next(dataclasses.replace(ctx, params={**params, "arguments": verdict.arguments}))


def guard(server: S, *, policy: Policy | None = None, style: str | None = None) -> S:
    """Puts the middleware in front of the tools of an ``MCPServer``, and returns it."""
    high: Any = server

    async def schemas() -> dict[str, Any]:
        tools = await high.list_tools()
        return {tool.name: getattr(tool, "input_schema", None) or tool.inputSchema for tool in tools}

    low = getattr(high, "_lowlevel_server", None) or getattr(high, "_mcp_server", None) or high
    low.middleware.append(Goodcall(schemas, policy=policy, style=style))
    return server
