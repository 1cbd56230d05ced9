"""LlamaIndex: tools whose arguments are judged before they run.

>>> agent = FunctionAgent(tools=good(tools), llm=llm)  # doctest: +SKIP

LlamaIndex closes JSON that was cut off before a tool sees it. For an agent that must never run such a
call, use the transport below the model's client, too (``http_client=``).
"""

from __future__ import annotations

from typing import Any, Callable, Iterable

from llama_index.core.tools import BaseTool, FunctionTool, ToolOutput
from llama_index.core.tools.types import AsyncBaseTool, adapt_to_async_tool

from ._checker import Checker
from ._tools import Policy


class GoodTool(AsyncBaseTool):  # type: ignore[misc, unused-ignore]
    """A tool that is called with judged arguments only."""

    def __init__(self, inner: AsyncBaseTool, checker: Checker) -> None:
        self._inner = inner
        self._checker = checker

    @property
    def metadata(self) -> Any:
        return self._inner.metadata

    def _judge(self, given: dict[str, Any]) -> tuple[ToolOutput | None, dict[str, Any]]:
        name = self.metadata.get_name()
        verdict = self._checker.check(name, self.metadata.get_parameters_dict(), given)
        if verdict:
            return None, verdict.arguments or {}
        refused = ToolOutput(content=verdict.text, tool_name=name, raw_input=given,
                             raw_output=verdict.text, is_error=True)
        return refused, {}

    def call(self, **kwargs: Any) -> ToolOutput:
        refused, arguments = self._judge(kwargs)
        return refused or self._inner.call(**arguments)

    async def acall(self, **kwargs: Any) -> ToolOutput:
        refused, arguments = self._judge(kwargs)
        return refused or await self._inner.acall(**arguments)


def good(
    tools: Iterable[BaseTool | Callable[..., Any]], *, policy: Policy | None = None, style: str | None = None
) -> list[Any]:
    """Returns the tools with arguments judged. One that asks for the workflow's context stays as it is."""
    checker = Checker(policy, style)
    made = []
    for tool in tools:
        one = tool if isinstance(tool, BaseTool) else FunctionTool.from_defaults(tool)
        needs_context = getattr(one, "requires_context", False)
        made.append(one if needs_context else GoodTool(adapt_to_async_tool(one), checker))
    return made
