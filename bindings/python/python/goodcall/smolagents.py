"""smolagents: a tool-calling agent whose calls are judged.

>>> agent = GoodToolCallingAgent(tools=tools, model=model)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from smolagents import ToolCallingAgent
from smolagents.models import get_tool_json_schema
from smolagents.utils import AgentToolCallError

from ._checker import Checker
from ._tools import Policy


class GoodToolCallingAgent(ToolCallingAgent):  # type: ignore[misc, unused-ignore]
    """Judges the arguments of a call before smolagents validates them."""

    def __init__(
        self, *args: Any, policy: Policy | None = None, style: str | None = None, **kwargs: Any
    ) -> None:
        self._checker = Checker(policy, style)
        super().__init__(*args, **kwargs)

    def execute_tool_call(self, tool_name: str, arguments: Any) -> Any:
        tool = self.tools.get(tool_name)
        if tool is None:
            return super().execute_tool_call(tool_name, arguments)
        schema = get_tool_json_schema(tool)["function"]["parameters"]
        verdict = self._checker.check(tool_name, schema, arguments)
        if not verdict:
            raise AgentToolCallError(verdict.text, self.logger)
        return super().execute_tool_call(tool_name, verdict.arguments)
