"""What users do with objects besides calling them: threads, processes, pickle, repr, cancellation."""

import asyncio
import copy
import importlib
import importlib.util
import json
import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import fuzz_border
import goodcall
import pytest

TOOL = {"name": "save", "parameters": {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "integer"},
                   "mode": {"enum": ["text", "binary"]}, "rows": {"type": "array"}},
    "required": ["path"],
}}
STYLES = ("model", "instruction", "numbered", "plain", "structured", "record")
SENT = {
    "good": '{"path": "a", "limit": 12345678901234567890123}',
    "mended": '{"path": "a", "limit": "5", "mode": "Text",}',
    "bad": '{"limit": "x", "mode": "txet"}',
}
PARTS = ("kind", "ok", "tool", "arguments", "json", "reason", "error_class", "text", "more")


@pytest.fixture
def tools():
    return goodcall.Tools(TOOL)


@pytest.mark.parametrize("kind", SENT)
@pytest.mark.parametrize("form", [str, str.encode, json.loads], ids=["text", "bytes", "values"])
def test_a_verdict_survives_pickle(tools, kind, form):
    if kind == "mended" and form is json.loads:
        pytest.skip("not JSON")
    verdict = tools.check("save", form(SENT[kind]))
    assert verdict.kind == kind
    for restored in (pickle.loads(pickle.dumps(verdict)), copy.deepcopy(verdict), pickle.loads(pickle.dumps(copy.copy(verdict)))):
        for part in PARTS:
            assert getattr(restored, part) == getattr(verdict, part), part
        assert repr(restored) == repr(verdict) and restored.to_dict() == verdict.to_dict()
        assert bool(restored) is bool(verdict)
        assert [str(change) for change in restored.changes] == [str(change) for change in verdict.changes]
        assert [str(issue) for issue in restored.issues] == [str(issue) for issue in verdict.issues]
        for style in STYLES:
            assert restored.explain(style) == verdict.explain(style)


def test_results_tools_calls_and_errors_survive_pickle(tools):
    again = pickle.loads(pickle.dumps(tools))
    assert type(again) is goodcall.Tools and again.check("save", SENT["mended"]).kind == "mended"
    strict = pickle.loads(pickle.dumps(goodcall.Tools(TOOL, policy="strict", style="plain")))
    assert strict.check("save", SENT["mended"]).kind == "bad"
    found = tools.extract('<tool_call>{"name": "save", "arguments": {"path": "a"}}</tool_call>')
    restored = pickle.loads(pickle.dumps(found))
    assert repr(restored) == repr(found) and restored.calls[0].verdict.kind == "good"
    detector = goodcall.LoopDetector()
    reports = [detector.observe("save", "{}", "same") for _ in range(3)]
    assert repr(pickle.loads(pickle.dumps(reports[-1]))) == repr(reports[-1])
    refused = goodcall.BadCall(tools.check("save", SENT["bad"]))
    assert pickle.loads(pickle.dumps(refused)).verdict.reason == "wrong_shape"


def test_a_pickled_refusal_counts_for_the_loop_detector(tools):
    refused = pickle.loads(pickle.dumps(tools.check("save", SENT["bad"])))
    detector = goodcall.LoopDetector()
    reports = [detector.observe("save", SENT["bad"], refused) for _ in range(4)]
    assert reports[-1] is not None


def test_everything_shows_itself(tools):
    assert repr(tools) == "<Tools save>"
    assert repr(tools.check("save", '{"path": "a"}')) == "<Verdict good tool='save' arguments={'path': 'a'}>"
    bad = tools.check("save", "{}")
    assert repr(bad) == "<Verdict bad tool='save' reason=\"wrong_shape\">"
    assert repr(bad.issues[0]) == "<Issue missing: add the missing path (a string)>"
    assert str(bad.issues[0]) == "add the missing path (a string)"
    mended = tools.check("save", '{"path": "a", "limit": "5"}')
    assert repr(mended.changes[0]) == f"<Change {mended.changes[0]}>"
    stream = goodcall.Stream(tools)
    assert repr(stream) == "<Stream openai of save>"
    assert repr(stream.push_text("words") + stream.finish()) == '[<Update text text="words">]'
    assert repr(goodcall.LoopDetector()) == "<LoopDetector>"

    @goodcall.tool
    def add(a: int, b: int = 1) -> int:
        return a + b

    assert repr(add) == "<Tool add>" and repr(goodcall.Toolbox([add])) == "<Toolbox add>"
    assert repr(goodcall.Toolbox([add]).call("add", '{"a": 1}')).startswith("Result(value=2, text='2', error=None")


def test_threads_get_their_own_answers(tools):
    stream_tools = goodcall.Tools(TOOL)

    def work(seed):
        rng = random.Random(seed)
        for _ in range(150):
            path = "x" * rng.choice([1, 30, 3000]) + str(rng.random())
            raw = json.dumps({"path": path, "limit": "7"}) + rng.choice(["", ",", "}"])
            verdict = tools.check("save", raw)
            if verdict:
                assert verdict.arguments == {"path": path, "limit": 7}, raw[:50]
            stream = goodcall.Stream(stream_tools)
            stream.push_text(f'<tool_call>{{"name": "save", "arguments": {{"path": "{path}"}}}}</tool_call>')
            stream.finish()
        return seed

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(16))) == list(range(16))


def test_one_stream_and_one_detector_may_be_shared_by_threads(tools):
    stream, detector = goodcall.Stream(tools), goodcall.LoopDetector()
    failures = []

    def work(number):
        try:
            for step in range(100):
                stream.push_text(f"{number} {step} ")
                detector.observe("save", {"path": str(number)}, str(step))
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_goes_on(tools):
    tools.check("save", SENT["mended"])
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        kinds = pool.map(lambda_free_kind, [(tools, raw) for raw in SENT.values()])
    assert kinds == list(SENT)


def lambda_free_kind(pair):
    tools, raw = pair
    return tools.check("save", raw).kind


IN_SUBINTERPRETER = """
import os
try:
    import goodcall
    said = "imported"
except ImportError as error:
    said = str(error)
os.write({pipe}, said.encode())
"""


def test_a_subinterpreter_is_refused_with_a_clear_error(tools):
    for module in ("_interpreters", "_xxsubinterpreters"):
        if importlib.util.find_spec(module):
            interpreters = importlib.import_module(module)
            break
    else:
        pytest.skip("this Python has no subinterpreters")
    read, write = os.pipe()
    other = interpreters.create()
    try:
        interpreters.run_string(other, IN_SUBINTERPRETER.format(pipe=write))
        said = os.read(read, 10_000).decode()
    finally:
        interpreters.destroy(other)
        os.close(read)
        os.close(write)
    assert "subinterpreters" in said, said
    assert tools.check("save", SENT["good"]).kind == "good"


def test_a_cancelled_call_is_cancelled():
    @goodcall.tool
    async def wait() -> str:
        await asyncio.sleep(60)
        return "late"

    async def main():
        task = asyncio.ensure_future(goodcall.Toolbox([wait]).acall("wait", "{}"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_cancelled_stream_closes_the_reply():
    httpx = pytest.importorskip("httpx")
    from goodcall import httpx as goodcall_httpx

    closed = []

    class Slow(httpx.AsyncByteStream):
        async def __aiter__(self):
            yield b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
            await asyncio.sleep(60)

        async def aclose(self):
            closed.append(True)

    def answer(request):
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Slow())

    async def main():
        transport = goodcall_httpx.AsyncTransport(httpx.MockTransport(answer), library=httpx)
        body = {"model": "m", "messages": [], "stream": True,
                "tools": [{"type": "function", "function": TOOL}]}
        async with httpx.AsyncClient(transport=transport) as client:
            async def read():
                async with client.stream("POST", "http://up/v1/chat/completions", json=body) as reply:
                    async for _ in reply.aiter_bytes():
                        seen.set()

            seen = asyncio.Event()
            task = asyncio.ensure_future(read())
            await asyncio.wait_for(seen.wait(), 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert closed


def test_the_lock_is_released_while_large_arguments_are_judged(tools):
    """Another thread gets the lock only if the one that judges gives it away."""
    raw = json.dumps({"path": "x" * 2_000_000, "rows": [[0]] * 100_000})
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            time.sleep(0.0001)
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        for _ in range(100):
            before = counted[0]
            tools.check("save", raw)
            if counted[0] > before:
                break
        assert counted[0] > before
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()


@pytest.mark.parametrize("deep", [10, 127, 128, 129, 10_000, 100_000])
def test_deep_nesting_is_an_answer(tools, deep):
    for raw in ('{"path": "a", "rows": ' + "[" * deep + "]" * deep + "}", "[" * deep, '{"rows":' * deep):
        assert tools.check("save", raw).kind in ("good", "mended", "bad")
    nested = {}
    for _ in range(min(deep, 900)):
        nested = {"a": nested}
    assert tools.check("save", {"path": "a", "rows": [nested]}).kind in ("good", "bad")


def test_no_text_crashes_it(tools):
    rng = random.Random(7)
    alphabet = '{}[]",:\'\\ntrue0159eE+-./*#`<>\x00\ud800é\U0001f600 path limit'
    for _ in range(3000):
        raw = "".join(rng.choice(alphabet) for _ in range(rng.randrange(40)))
        verdict = tools.check("save", raw)
        assert verdict.kind in ("good", "mended", "bad") and (verdict.text or verdict.ok)
        tools.extract(raw.encode("utf-8", "replace").decode(), scope="anywhere")


def test_half_a_surrogate_pair_is_an_answer_or_one_of_our_errors(tools):
    half = "\ud83d"
    assert tools.check("save", {"path": half}).reason == "malformed"
    assert tools.check("save", '{"path": "\\ud83d"}').reason == "malformed"
    assert tools.check(half, "{}").reason == "unknown_tool"
    assert half not in tools and 5 not in tools
    for use in (lambda: tools.extract(half), lambda: goodcall.Stream(tools).push_text(half),
                lambda: goodcall.Stream(tools).push({"a": half}), lambda: goodcall.Tools({"name": half}),
                lambda: goodcall.Tools(half), lambda: tools.check("save", "{}", policy=half),
                lambda: tools.check("save", "{}").explain(half), lambda: tools.definitions(half)):
        with pytest.raises(goodcall.InputError, match="surrogate"):
            use()
    assert goodcall.LoopDetector().observe(half, half, {"a": half}) is None


def test_a_number_that_python_has_no_type_for_is_refused():
    """Its exponent is longer than a Decimal takes."""
    tools = goodcall.Tools({"name": "f", "parameters": {"type": "object"}})
    raw = '{"large": 12345678901234567890123, "b/c": [0, {"n": 1e99999999999999999999}]}'
    verdict = tools.check("f", raw)
    assert (verdict.kind, verdict.reason, verdict.arguments) == ("bad", "wrong_shape", None)
    assert [(issue.path, issue.code) for issue in verdict.issues] == [("/b~1c/1/n", "inexact_number")]
    assert "1e99999999999999999999" in verdict.text
    found = tools.extract(f'<tool_call>{{"name": "f", "arguments": {raw}}}</tool_call>')
    assert found.calls[0].verdict.reason == "wrong_shape"
    assert tools.check("f", '{"n": 1e-99999999999999999999}').arguments == {"n": 0.0}
    twice = goodcall.Tools({"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "array"}}}})
    wrapped = twice.check("f", '{"a": "[1e99999999999999999999]"}')
    assert wrapped.kind == "bad" and [change.before for change in wrapped.changes] is not None


def test_arguments_may_be_anything_that_holds_text_or_bytes(tools):
    class Text(str):
        pass

    raw = '{"path": "a\u00e9"}'
    for form in (Text(raw), raw.encode(), bytearray(raw.encode()), memoryview(raw.encode())):
        verdict = tools.check("save", form)
        assert (verdict.kind, verdict.arguments, verdict.json) == ("good", {"path": "aé"}, raw)
    key = "k" * 100_000
    assert tools.check("save", json.dumps({"path": "a", key: 1})).arguments == {"path": "a", key: 1}


def test_random_input_breaks_nothing():
    """The same as `fuzz_border.py` does for hours."""
    rng = random.Random(21)
    for _ in range(2000):
        data = fuzz_border.random_input(rng)
        try:
            fuzz_border.one_input(data)
        except BaseException as error:
            raise AssertionError(f"the input bytes.fromhex({data.hex()!r})") from error


def test_what_cannot_be_used_is_one_of_our_errors(tools):
    for wrong in (object(), {"path": object}, {1: {2: {3}}}, [float("nan")], {"a": b"\xff"}):
        try:
            tools.check("save", wrong)
        except goodcall.Error:
            pass
    with pytest.raises(TypeError):
        tools.check(5, "{}")
    with pytest.raises(TypeError):
        tools.check("save")


def test_the_command_is_in_the_package():
    from goodcall import _goodcall
    if not hasattr(_goodcall, "command"):
        pytest.skip("this build has no command")
    ran = subprocess.run([sys.executable, "-m", "goodcall", "check", "--jsonl"], text=True, capture_output=True,
                         input=json.dumps({"raw": SENT["mended"], "schema": TOOL["parameters"]}))
    assert ran.returncode == 0 and json.loads(ran.stdout)["verdict"] == "mended", ran.stderr
    wrong = subprocess.run([sys.executable, "-m", "goodcall", "chekc"], text=True, capture_output=True)
    assert wrong.returncode == 2 and "chekc" in wrong.stderr
