"""Verdicts on single calls."""

import json
import pickle
import threading
from decimal import Decimal

import goodcall
import pytest

OPENAI = {"type": "function", "function": {"name": "read_file", "description": "Reads a file.", "parameters": {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 2000},
        "mode": {"enum": ["text", "binary"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["path"],
    "additionalProperties": False,
}}}
SCHEMA = OPENAI["function"]["parameters"]


@pytest.fixture
def tools():
    return goodcall.Tools([OPENAI])


def test_a_valid_call_is_good_and_untouched(tools):
    verdict = tools.check("read_file", '{"limit": 5, "path": "a"}')
    assert (verdict.kind, verdict.ok, bool(verdict)) == ("good", True, True)
    assert verdict.arguments == {"limit": 5, "path": "a"}
    assert list(verdict.arguments) == ["limit", "path"]
    assert verdict.changes == [] and verdict.issues == [] and verdict.text == ""
    assert verdict.json == '{"limit": 5, "path": "a"}', "as sent"
    assert verdict.reason is None and verdict.tool == "read_file"


def test_a_mended_call_lists_every_change(tools):
    verdict = tools.check("read_file", """{'path': "a", "limit": "5", "tags": "[\\"x\\"]",}""")
    assert verdict.kind == "mended"
    assert verdict.arguments == {"path": "a", "limit": 5, "tags": ["x"]}
    by_rule = {change.rule: change for change in verdict.changes}
    number = by_rule["string-to-number"]
    assert (number.before, number.after, number.path, number.level) == ("5", 5, "/limit", "safe")
    assert number.moved_from is None and number.span[0] < number.span[1]
    assert "trailing-comma" in by_rule
    assert tools.check("read_file", verdict.json).kind == "good"


def test_a_bad_call_names_everything_that_is_wrong(tools):
    verdict = tools.check("read_file", '{"limit": 5000, "mode": "txt"}')
    assert not verdict and verdict.kind == "bad" and verdict.reason == "wrong_shape"
    assert verdict.arguments is None and verdict.json is None
    assert {(issue.path, issue.code) for issue in verdict.issues} == {
        ("/path", "missing"), ("/limit", "too_large"), ("/mode", "enum")}
    mode = next(issue for issue in verdict.issues if issue.code == "enum")
    assert mode.allowed == ["text", "binary"] and mode.nearest == "text"
    for word in ("path", "2000", "text"):
        assert word in verdict.text
    assert verdict.explain("structured").startswith("{")
    assert verdict.error_class == "validation"


def test_truncation_is_never_closed(tools):
    verdict = tools.check("read_file", '{"path": "a.t')
    assert (verdict.kind, verdict.reason, verdict.error_class) == ("bad", "truncated", "truncated")
    assert tools.check("read_file", '{"path": "a"', stop="cut_off").reason == "truncated"
    assert tools.check("read_file", '{"path": "a"', stop="finished").kind == "mended"


def test_an_unknown_tool_is_named_with_the_nearest(tools):
    verdict = tools.check("raed_file", "{}")
    assert verdict.reason == "unknown_tool" and verdict.issues[0].nearest == "read_file"
    assert tools.check("functions.read_file", '{"path": "a"}').tool == "read_file"


def test_policies_decide_what_is_mended(tools):
    raw = '{"path": "a", "limit": "5"}'
    assert tools.check("read_file", raw, policy="strict").kind == "bad"
    strict = goodcall.Tools([OPENAI], policy={"level": "safe", "tools": {"read_file": {"level": "strict"}}})
    assert strict.check("read_file", raw).kind == "bad"
    destructive = {"name": "rm", "inputSchema": SCHEMA, "annotations": {"destructiveHint": True}}
    assert goodcall.Tools([destructive]).check("rm", raw).kind == "bad"


def test_numbers_are_exact():
    tools = goodcall.Tools({"name": "f", "parameters": {"type": "object"}})
    raw = '{"a":12345678901234567890123,"b":-9223372036854775809,"c":1.5,"d":1e999,"e":-0}'
    verdict = tools.check("f", raw)
    assert verdict.arguments == {
        "a": 12345678901234567890123, "b": -9223372036854775809, "c": 1.5, "d": Decimal("1e999"), "e": 0}
    assert type(verdict.arguments["c"]) is float and verdict.json == raw
    digits = "1" * 5000
    assert tools.check("f", '{"a":%s}' % digits).arguments["a"] == Decimal(digits)


def test_an_integer_is_an_int_however_it_is_written():
    integer, number = {"type": "integer"}, {"type": "number"}
    properties = {"n": integer, "many": {"type": "array", "items": {"type": ["integer", "null"]}}, "x": number,
                  "maybe": {"anyOf": [integer, {"type": "null"}]}, "either": {"type": ["integer", "string"]},
                  "inner": {"type": "object", "properties": {"n": integer, "x": number}}}
    tools = goodcall.Tools({"name": "f", "parameters": {"type": "object", "properties": properties}})
    raw = '''{"n": 5.0, "many": [1e3, 2.0, null], "x": 2.0, "maybe": 1.2e1, "either": 3, "inner": {"n": 1E400, "x": 1}}'''
    verdict = tools.check("f", raw)
    assert repr(verdict.arguments) == (
        "{'n': 5, 'many': [1000, 2, None], 'x': 2.0, 'maybe': 12, 'either': 3, "
        "'inner': {'n': Decimal('1E+400'), 'x': 1}}")
    assert verdict.json == raw


def test_arguments_may_be_bytes_or_values(tools):
    assert tools.check("read_file", b'{"path": "\xc3\xa9"}').arguments == {"path": "é"}
    assert tools.check("read_file", {"path": "a", "limit": "5"}).arguments == {"path": "a", "limit": 5}
    assert tools.check("read_file", b"\xff").reason == "malformed"
    assert tools.check("read_file", '{"path": "\ud800"}').reason == "malformed"
    assert tools.check("read_file", None).reason == "empty"
    big = {"path": "x" * 10_000, "tags": ["t"] * 1000}
    assert tools.check("read_file", json.dumps(big)).arguments == big


@pytest.mark.parametrize("definition", [
    OPENAI,
    {"name": "read_file", "input_schema": SCHEMA},
    {"name": "read_file", "inputSchema": SCHEMA},
    {"functionDeclarations": [{"name": "read_file", "parameters": SCHEMA}]},
    {"name": "read_file", "parameters": SCHEMA},
    {"tools": [OPENAI]},
    json.dumps(OPENAI),
])
def test_every_providers_form_is_read(definition):
    tools = goodcall.Tools(definition)
    assert tools.names == ["read_file"] and "read_file" in tools and len(tools) == 1
    assert tools.check("read_file", '{"path": "a", "limit": "1"}').kind == "mended"
    assert tools.schema("read_file") == SCHEMA
    assert tools.definitions("anthropic")[0]["input_schema"] == SCHEMA


def test_a_schema_that_is_a_boolean_is_shown_as_an_object():
    tools = goodcall.Tools([{"name": "all", "parameters": True}, {"name": "none", "parameters": False}])
    assert (tools.schema("all"), tools.schema("none")) == ({}, {"not": {}})


def test_errors_are_goodcalls_own_and_say_where():
    with pytest.raises(goodcall.SchemaError) as caught:
        goodcall.Tools([{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "strin"}}}}])
    assert caught.value.tool == "f" and caught.value.path == "/properties/a/type"
    assert "f" in str(caught.value) and "strin" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).path == caught.value.path
    for wrong in ([], [5], "no json", {"openapi": "3"}, [OPENAI, OPENAI], object()):
        with pytest.raises(goodcall.ToolsError):
            goodcall.Tools(wrong)
    tools = goodcall.Tools(OPENAI)
    for setting in ({"policy": "lax"}, {"stop": "x"}):
        with pytest.raises(goodcall.SettingError, match="expected"):
            tools.check("read_file", "{}", **setting)
    with pytest.raises(goodcall.SettingError, match="expected"):
        goodcall.Tools(OPENAI, style="loud")
    with pytest.raises(goodcall.InputError):
        tools.check("read_file", {"path": {1, 2}, 3j: 4})
    for name in goodcall.__all__:
        kind = getattr(goodcall, name)
        if isinstance(kind, type) and issubclass(kind, Exception):
            assert issubclass(kind, goodcall.Error)


def test_calls_in_text_are_found(tools):
    text = 'I look.\n<tool_call>{"name": "read_file", "arguments": {"path": "a", "limit": "5"}}</tool_call>'
    found = tools.extract(text)
    call, = found.calls
    assert (call.name, call.arguments, call.verdict.kind) == ("read_file", {"path": "a", "limit": 5}, "mended")
    assert found.content.strip() == "I look." and text.encode()[call.span[0]:call.span[1]]
    thought = tools.extract("<think>Which file?</think>It is a.")
    assert "Which file?" in thought.reasoning and thought.content == "It is a." and thought.calls == []
    assert tools.extract("read_file(path='a') is how").calls == []
    assert tools.extract("so read_file(path='a') is it", scope="anywhere").calls[0].arguments == {"path": "a"}


def test_fragments_become_calls(tools):
    stream = goodcall.Stream(tools)
    deltas = [{"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": '{"path": "a", '}},
              {"index": 0, "function": {"arguments": '"limit": 5,}'}}]
    updates = []
    for delta in deltas:
        updates += stream.push({"choices": [{"delta": {"tool_calls": [delta]}}]})
    updates += stream.finish()
    assert [update.kind for update in updates] == ["started", "call"]
    assert updates[1].call.verdict.kind == "mended"
    assert updates[1].call.arguments == {"path": "a", "limit": 5} and updates[1].id == "c1"
    with pytest.raises(goodcall.InputError):
        stream.push("{")


def test_hopeless_calls_are_named_before_they_end(tools):
    stream = goodcall.Stream(tools)
    delta = {"index": 0, "id": "c1", "function": {"name": "read_file", "arguments": '{"limit": [], "path": "'}}
    kinds = [update.kind for update in stream.push({"choices": [{"delta": {"tool_calls": [delta]}}]})]
    assert kinds == ["started", "hopeless"]


def test_the_dict_is_that_of_the_protocol(tools):
    mended = tools.check("read_file", '{"path": "a", "limit": "5"}').to_dict()
    assert mended == {"verdict": "mended", "tool": "read_file", "arguments": {"path": "a", "limit": 5},
                      "changes": [{"rule": "string-to-number", "level": "safe", "path": "/limit",
                                   "before": "5", "after": 5, "span": [23, 26]}], "issues": []}
    bad = tools.check("read_file", "{}").to_dict()
    assert bad["issues"][0]["code"] == "missing" and bad["feedback"] and bad["reason"] == "wrong_shape"


def test_threads_share_tools(tools):
    raw = json.dumps({"path": "x" * 5000, "limit": "7"})
    failures = []

    def work():
        for _ in range(50):
            if tools.check("read_file", raw).arguments["limit"] != 7:
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_every_key_is_the_one_that_was_sent():
    names = [f"key{number}" for number in range(1500)] + ["", "\u00e9", "properties"]
    inner = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": inner}}}
    many = goodcall.Tools({"name": "many", "parameters": schema})
    sent = {"rows": [{name: number for number, name in enumerate(names)}, {"undeclared": {"key1": None}}]}
    assert many.check("many", json.dumps(sent)).arguments == sent


def test_every_string_is_the_one_that_was_sent():
    modes = ["fast", "slow", "", "\u00e9t\u00e9", "mode", "a name of more than sixteen bytes"]
    properties = {
        "mode": {"enum": modes},
        "modes": {"type": "array", "items": {"anyOf": [{"const": "fast"}, {"enum": modes}, {"type": "string"}]}},
        "enum": {"type": "string"},
        "inner": {"properties": {"mode": {"type": "string"}, "fast": {"type": "integer"}}},
    }
    listed = goodcall.Tools({"name": "listed", "parameters": {"type": "object", "properties": properties}})
    for mode in modes:
        other = mode + "!"
        sent = {"mode": mode, "modes": [mode, other], "enum": mode, "inner": {"mode": other, "fast": 5}}
        for raw in (json.dumps(sent), json.dumps(sent, ensure_ascii=False), json.dumps(sent).encode()):
            assert listed.check("listed", raw).arguments == sent


def test_loops_are_detected():
    detector = goodcall.LoopDetector()
    for percent in (10, 20, 30, 40):
        assert detector.observe("status", {"job": 7}, f"{percent} %") is None
    assert detector.observe("status", '{"job": 7}', "40 %") is None
    report = detector.observe("status", '{"job":7}', "40 %")
    assert (report.signal, report.escalation, report.tools) == ("same_call", "ask", ["status"])
    assert report.text and report.times == 3
    with pytest.raises(goodcall.SettingError):
        goodcall.LoopDetector(unheard_of=3)
