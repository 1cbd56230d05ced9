"""The tool parser, against a stand-in of vLLM's interface: the wheel needs CUDA to be imported. The
stand-in has the methods and fields of `ToolParser` and of the protocol's classes in vLLM 0.33."""

import itertools
import sys
import types
import uuid

import pytest

pydantic = pytest.importorskip("pydantic")

TOOL = {"type": "function", "function": {"name": "save", "parameters": {
    "type": "object",
    "properties": {"path": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["path", "tags"],
}}}


@pytest.fixture
def parser(monkeypatch):
    class FunctionCall(pydantic.BaseModel):
        name: str
        arguments: str

    class ToolCall(pydantic.BaseModel):
        id: str = pydantic.Field(default_factory=lambda: f"chatcmpl-tool-{uuid.uuid4().hex}")
        type: str = "function"
        function: FunctionCall

    class DeltaFunctionCall(pydantic.BaseModel):
        name: str | None = None
        arguments: str | None = None

    class DeltaToolCall(pydantic.BaseModel):
        id: str | None = None
        type: str | None = None
        index: int
        function: DeltaFunctionCall | None = None

    class ExtractedToolCallInformation(pydantic.BaseModel):
        tools_called: bool
        tool_calls: list[ToolCall]
        content: str | None = None

    class DeltaMessage(pydantic.BaseModel):
        role: str | None = None
        content: str | None = None
        reasoning: str | None = None
        tool_calls: list[DeltaToolCall] = pydantic.Field(default_factory=list)

    class ToolParser:
        supports_required_and_named = True

        def __init__(self, tokenizer, tools=None):
            self.prev_tool_call_arr = []
            self.current_tool_id = -1
            self.current_tool_name_sent = False
            self.streamed_args_for_tool = []
            self.model_tokenizer = tokenizer
            self.tools = tools or []

    class ToolParserManager:
        tool_parsers = {}

        @classmethod
        def register_module(cls, name=None, force=True, module=None):
            return lambda module: cls.tool_parsers.setdefault(name, module)

    protocol = types.ModuleType("vllm.entrypoints.generate.base.protocol")
    for one in (FunctionCall, ToolCall, DeltaFunctionCall, DeltaToolCall, ExtractedToolCallInformation, DeltaMessage):
        setattr(protocol, one.__name__, one)
    abstract = types.ModuleType("vllm.tool_parsers.abstract_tool_parser")
    abstract.ToolParser, abstract.ToolParserManager = ToolParser, ToolParserManager
    for name in ("vllm", "vllm.tool_parsers", "vllm.entrypoints", "vllm.entrypoints.generate",
                 "vllm.entrypoints.generate.base"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["vllm.entrypoints.generate.base"].protocol = protocol
    monkeypatch.setitem(sys.modules, protocol.__name__, protocol)
    monkeypatch.setitem(sys.modules, abstract.__name__, abstract)
    monkeypatch.delitem(sys.modules, "goodcall.vllm", raising=False)
    import goodcall.vllm

    assert ToolParserManager.tool_parsers == {"goodcall": goodcall.vllm.GoodcallToolParser}
    return ToolParserManager.tool_parsers["goodcall"](tokenizer=None)


class Tool(pydantic.BaseModel):
    type: str = "function"
    function: dict


REQUEST = types.SimpleNamespace(tools=[Tool(**TOOL)])

#: One call in three dialects, with a fault that can be mended.
DIALECTS = {
    "hermes": 'On it.\n<tool_call>\n{"name": "save", "arguments": {"path": "a", "tags": "[\\"x\\"]"}}\n</tool_call>',
    "qwen": "On it.\n<tool_call>\n<function=save>\n<parameter=path>\na\n</parameter>\n<parameter=tags>\n"
            '["x"]\n</parameter>\n</function>\n</tool_call>',
    "mistral": 'On it.\n[TOOL_CALLS][{"name": "save", "arguments": {"path": "a", "tags": ["x"],}}]',
}
MEANT = '{"path":"a","tags":["x"]}'


@pytest.mark.parametrize("name", DIALECTS)
def test_whole_messages(parser, name):
    found = parser.extract_tool_calls(DIALECTS[name], REQUEST)
    call, = found.tool_calls
    assert found.tools_called and found.content == "On it."
    assert (call.function.name, call.function.arguments) == ("save", MEANT)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("name", DIALECTS)
def test_fragments(parser, name, size):
    text, sent, content, calls = DIALECTS[name], "", "", []
    for at in itertools.count(0, size):
        delta = text[at:at + size]
        if not delta:
            break
        message = parser.extract_tool_calls_streaming(sent, sent + delta, delta, [], [], [], REQUEST)
        sent += delta
        if message:
            content += message.content or ""
            calls += message.tool_calls
    call, = calls
    assert (call.index, call.function.name, call.function.arguments) == (0, "save", MEANT)
    assert content.strip() == "On it." and parser.prev_tool_call_arr[0]["arguments"] == MEANT
    assert parser.streamed_args_for_tool == [MEANT] and call.id


def test_text_without_calls_stays_text(parser):
    found = parser.extract_tool_calls("Nothing to do: <b>x</b>", REQUEST)
    assert not found.tools_called and found.content == "Nothing to do: <b>x</b>"
    nothing = types.SimpleNamespace(tools=None)
    assert parser.extract_tool_calls_streaming("", "x", "x", [], [], [], nothing).content == "x"


def test_a_bad_call_goes_to_the_client_as_written(parser):
    text = '<tool_call>{"name": "save", "arguments": {"path": 5}}</tool_call>'
    call, = parser.extract_tool_calls(text, REQUEST).tool_calls
    assert call.function.arguments == '{"path": 5}'
