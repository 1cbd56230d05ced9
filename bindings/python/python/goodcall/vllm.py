"""vLLM: a tool parser that reads every dialect, without being told the model's family.

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser goodcall \\
        --tool-parser-plugin "$(python -c 'import importlib.util as u; print(u.find_spec("goodcall.vllm").origin)')"

Calls are mended where one reading is possible. A bad call goes to the client as it was written.
"""

from __future__ import annotations

from typing import Any, Sequence

from vllm.tool_parsers.abstract_tool_parser import ToolParser, ToolParserManager

try:
    from vllm.entrypoints.generate.base import protocol
except ImportError:  # versions before 0.33
    from vllm.entrypoints.openai import protocol

from goodcall import Call, Error, Stream, Tools

#: With one of these a call may end.
_ENDS = (">", "}", ")", "]", "|")


@ToolParserManager.register_module("goodcall")
class GoodcallToolParser(ToolParser):  # type: ignore[misc, unused-ignore]
    """Finds the calls in what a model wrote."""

    # Forced calls are written in the model's own dialect, too.
    supports_required_and_named = False

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self._offered: Tools | None = None
        self._stream: Stream | None = None

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        tools = self._tools(request)
        if tools is None:
            return protocol.ExtractedToolCallInformation(tools_called=False, tool_calls=[], content=model_output)
        found = tools.extract(model_output, stop="finished")
        calls = [protocol.ToolCall(function=protocol.FunctionCall(name=call.name, arguments=_arguments(call)))
                 for call in found.calls]
        content = found.content.strip() or None if calls else model_output
        return protocol.ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=content)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        tools = self._tools(request)
        if tools is None:
            return protocol.DeltaMessage(content=delta_text) if delta_text else None
        if self._stream is None or not previous_text:
            self._stream = Stream(tools, scope="explicit")
            self.prev_tool_call_arr: list[dict[str, Any]] = []
            self.streamed_args_for_tool: list[str] = []
        updates = self._stream.push_text(delta_text)
        content = "".join(update.text or "" for update in updates if update.kind == "text")
        calls = self._new_calls(tools, current_text) if delta_text.rstrip().endswith(_ENDS) else []
        if not content and not calls:
            return None
        return protocol.DeltaMessage(content=content or None, tool_calls=calls)

    def _new_calls(self, tools: Tools, text: str) -> list[Any]:
        """The complete calls of the text that were not sent yet, each as a whole."""
        made = []
        for call in tools.extract(text).calls[len(self.prev_tool_call_arr):]:
            if call.verdict.reason == "truncated":
                break
            arguments = _arguments(call)
            self.current_tool_id = index = len(self.prev_tool_call_arr)
            self.prev_tool_call_arr.append({"name": call.name, "arguments": arguments})
            self.streamed_args_for_tool.append(arguments)
            function = protocol.DeltaFunctionCall(name=call.name, arguments=arguments)
            id = protocol.ToolCall(function=protocol.FunctionCall(name=call.name, arguments=arguments)).id
            made.append(protocol.DeltaToolCall(id=id, type="function", index=index, function=function))
        return made

    def _tools(self, request: Any) -> Tools | None:
        if not request.tools:
            return None
        if self._offered is None:
            try:
                self._offered = Tools([tool.model_dump() for tool in request.tools])
            except Error:
                # A schema that cannot be used is reported by vLLM itself.
                return None
        return self._offered


def _arguments(call: Call) -> str:
    return call.verdict.json or call.raw
