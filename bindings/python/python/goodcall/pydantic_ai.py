"""Pydantic AI: a capability for ``Agent``.

>>> agent = Agent(model, tools=tools, capabilities=[Goodcall()])  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import ModelRetry
from pydantic_ai.capabilities import AbstractCapability

from ._checker import Checker
from ._tools import Policy


class Goodcall(AbstractCapability[Any]):  # type: ignore[misc, unused-ignore]
    """Judges the arguments of a call before Pydantic AI validates them."""

    def __init__(self, *, policy: Policy | None = None, style: str | None = None) -> None:
        super().__init__()
        self._checker = Checker(policy, style)

    async def before_tool_validate(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        verdict = self._checker.check(call.tool_name, tool_def.parameters_json_schema, args)
        if not verdict:
            raise ModelRetry(verdict.text)
        return verdict.json if isinstance(args, str) else verdict.arguments
