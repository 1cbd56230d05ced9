"""LangChain and LangGraph: a middleware for ``create_agent``.

>>> agent = create_agent(model, tools, middleware=[Goodcall()])  # doctest: +SKIP

Calls are judged when the model makes them. What LangChain could not parse (``invalid_tool_calls``, with
which a run ends silently) is read, mended or explained to the model like any other call.
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from ._checker import Checker
from ._goodcall import Verdict
from ._tools import Policy, Tools

#: Where a message keeps the texts about its refused calls, by their ids, until they are answered.
_REFUSED = "goodcall"


class Goodcall(AgentMiddleware):  # type: ignore[misc, unused-ignore]
    """Judges the calls of an agent. ``wrap_tool_call`` fits a LangGraph ``ToolNode``, too."""

    def __init__(self, *, policy: Policy | None = None, style: str | None = None) -> None:
        super().__init__()
        self._checker = Checker(policy, style)

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return self._judge(request, handler(request))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return self._judge(request, await handler(request))

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        refusal, request = self._admit(request)
        return refusal or handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        refusal, request = self._admit(request)
        return refusal or await handler(request)

    def _judge(self, request: Any, response: Any) -> Any:
        definitions = [convert_to_openai_tool(tool) for tool in request.tools]
        definitions = [one for one in definitions if one.get("type") == "function"]
        if not definitions:
            return response
        tools = self._checker.tools("", definitions)
        result = [_judged(message, tools) if isinstance(message, AIMessage) else message
                  for message in response.result]
        response.result = result
        return response

    def _admit(self, request: Any) -> tuple[ToolMessage | None, Any]:
        call = request.tool_call
        for message in reversed(_messages(request.state)):
            if isinstance(message, AIMessage):
                told = message.additional_kwargs.get(_REFUSED, {}).get(call["id"])
                if told is not None:
                    return _answer(call, told), request
                break
        if request.tool is None:
            return None, request
        schema = convert_to_openai_tool(request.tool)["function"].get("parameters")
        verdict = self._checker.check(call["name"], schema, call["args"])
        if not verdict:
            return _answer(call, verdict.text), request
        if verdict.kind == "mended":
            request = request.override(tool_call={**call, "args": verdict.arguments})
        return None, request


def _messages(state: Any) -> list[Any]:
    if isinstance(state, list):
        return state
    return list(state["messages"] if isinstance(state, dict) else state.messages)


def _answer(call: Any, text: str) -> ToolMessage:
    return ToolMessage(content=text, tool_call_id=call["id"], name=call["name"], status="error")


def _judged(message: AIMessage, tools: Tools) -> AIMessage:
    """Returns a message whose calls are all calls: good, mended, or refused when they are run."""
    if not (message.tool_calls or message.invalid_tool_calls):
        return message
    cut_off = message.response_metadata.get("finish_reason") in ("length", "max_tokens")
    calls, refused = [], {}
    for call in [*message.tool_calls, *message.invalid_tool_calls]:
        verdict = tools.check(call["name"] or "", call["args"], stop="cut_off" if cut_off else None)
        arguments = _arguments(call, verdict)
        calls.append({"name": verdict.tool, "args": arguments, "id": call["id"], "type": "tool_call"})
        if not verdict:
            refused[call["id"]] = verdict.text
    more = {key: value for key, value in message.additional_kwargs.items() if key != "tool_calls"}
    if refused:
        more[_REFUSED] = refused
    return message.model_copy(
        update={"tool_calls": calls, "invalid_tool_calls": [], "additional_kwargs": more})


def _arguments(call: Any, verdict: Verdict) -> dict[str, Any]:
    if verdict.arguments is not None:
        return verdict.arguments
    # What the history keeps of a refused call must be legal for the provider.
    return call["args"] if isinstance(call["args"], dict) else {}
