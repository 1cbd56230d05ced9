"""Microsoft Agent Framework: a function middleware.

>>> agent = client.as_agent(tools=tools, middleware=[Goodcall()])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from agent_framework import FunctionMiddleware

from ._checker import Checker
from ._tools import Policy


class Goodcall(FunctionMiddleware):  # type: ignore[misc, unused-ignore]
    """Judges the arguments of a call before the framework validates them."""

    def __init__(self, *, policy: Policy | None = None, style: str | None = None) -> None:
        self._checker = Checker(policy, style)

    async def process(self, context: Any, call_next: Any) -> None:
        given = context.arguments
        given = given if isinstance(given, dict) else given.model_dump()
        verdict = self._checker.check(context.function.name, context.function.parameters(), given)
        if not verdict:
            context.result = verdict.text
            return
        if verdict.kind == "mended":
            context.arguments = verdict.arguments
        await call_next()
