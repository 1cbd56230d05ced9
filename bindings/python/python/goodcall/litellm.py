"""LiteLLM: a callback for the SDK's async calls and for the proxy.

>>> litellm.callbacks = [Goodcall()]  # doctest: +SKIP

Calls of whole replies are mended in place. With re-asks, for streams and for the sync SDK use the
transport: ``litellm.client_session = httpx.Client(transport=goodcall.httpx.Transport())``.
"""

from __future__ import annotations

from typing import Any, AsyncIterator

from litellm.integrations.custom_logger import CustomLogger

from ._checker import Checker
from ._tools import Policy, Tools


class Goodcall(CustomLogger):  # type: ignore[misc, unused-ignore]
    """Mends the calls of replies. A bad call stays as sent; ``bad`` in the proxy's log names it."""

    def __init__(self, *, policy: Policy | None = None, style: str | None = None) -> None:
        super().__init__()
        self._checker = Checker(policy, style)

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        return self._mend(request_data, response)

    async def async_post_call_success_hook(
        self, data: dict[str, Any], user_api_key_dict: Any, response: Any
    ) -> Any:
        return self._mend(data, response)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        """Holds the chunks of calls until they are complete, and hands on the mended ones."""
        tools = self._tools(request_data)
        held: dict[int, Any] = {}
        async for chunk in response:
            choices = getattr(chunk, "choices", None) or []
            if tools is None or len(choices) != 1:
                yield chunk
                continue
            delta = choices[0].delta
            for call in getattr(delta, "tool_calls", None) or []:
                known = held.setdefault(call.index, call)
                if known is not call:
                    known.function.arguments = (known.function.arguments or "") + (call.function.arguments or "")
                    known.function.name = known.function.name or call.function.name
            if choices[0].finish_reason and held:
                delta.tool_calls = [held[index] for index in sorted(held)]
                cut_off = choices[0].finish_reason == "length"
                for call in delta.tool_calls:
                    _mend_call(call, tools, cut_off)
                held = {}
            elif getattr(delta, "tool_calls", None):
                delta.tool_calls = None
                if not delta.content and not delta.role:
                    continue
            yield chunk

    def _tools(self, request: dict[str, Any]) -> Tools | None:
        parameters = request.get("optional_params") or {}
        definitions = request.get("tools") or parameters.get("tools")
        functions = [one for one in definitions or [] if isinstance(one, dict) and "function" in one]
        return self._checker.tools("", functions) if functions else None

    def _mend(self, request: dict[str, Any], response: Any) -> Any:
        tools = self._tools(request)
        for choice in getattr(response, "choices", None) or [] if tools else []:
            for call in getattr(choice.message, "tool_calls", None) or []:
                _mend_call(call, tools, choice.finish_reason == "length")
        return response


def _mend_call(call: Any, tools: Tools | None, cut_off: bool) -> None:
    if tools is None or not call.function.name:
        return
    verdict = tools.check(call.function.name, call.function.arguments, stop="cut_off" if cut_off else "finished")
    if verdict.kind == "mended":
        call.function.name, call.function.arguments = verdict.tool, verdict.json
