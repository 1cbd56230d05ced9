"""Random input for the border between Python and the engine, and what must hold whatever it is.

    python bindings/python/tests/fuzz_border.py --seconds 300 [--seed N]
    python bindings/python/tests/fuzz_border.py --atheris [OPTIONS of libFuzzer]

The first draws inputs from a seeded generator and needs no package. The second is steered by the branches
of the package's Python code (`pip install atheris`); the native code is not instrumented, its parsers
have targets of their own in ``fuzz/``. A finding becomes a test before it is fixed.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import re
import sys
import time
from typing import Any, Callable

try:
    import atheris
except ImportError:
    atheris = None
    import goodcall
else:
    with atheris.instrument_imports(include=["goodcall"]):
        import goodcall
from goodcall import _goodcall

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"}, "limit": {"type": "integer", "minimum": 0}, "ratio": {"type": "number"},
        "mode": {"enum": ["text", "binary"]}, "tags": {"type": "array", "items": {"type": "string"}},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean"}, "inner": {"$ref": "#"}}},
        "any": {}, "either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    },
    "required": ["path"],
}
KEYS = [*SCHEMA["properties"], "on", "inner", "Path", "arguments", "", "é", "k" * 5000, "\ud83d", "__class__", "\x00"]
NUMBERS = ["0", "-0", "5", "5.0", "1e3", "1E400", "1e-400", "12345678901234567890123", "-9223372036854775809",
           "1" * 5000, "1e9999999999999999999", "0.1", "-", "01", "NaN", "Infinity", ".5", "1.", "+1", "0x10"]
WORDS = ["text", "Binary", "a.txt", "", "null", "[1]", '{"path": "b"}', "\ud800", "\udc00\ud800", "\U0001f600",
         "x" * 3000, "\x00", "é", "yes", "2026-02-30", "```json", "//", "\\", '"', "'", "\n", "<tool_call>"]
PIECES = ["{", "}", "[", "]", ",", ":", '"', "'", "\\", "\\u", "\\ud83d", "```json\n", "\n```", "// no\n", "/*",
          "*/", " ", "\n", "\t", "\x00", "\ufeff", "\u2028", "true", "True", "null", "None", "undefined"]
MARKERS = ["<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "<|python_tag|>", "<function=save>",
           "</function>", "<parameter=path>", "</parameter>", "save(", ")", '{"name": "save", "arguments": ',
           "Action: save\nAction Input: ", "```json\n", "```", "data: ", "\n\n", "[DONE]"]


class Choices:
    """Decisions read from bytes. When these are used up, every decision is the first."""

    def __init__(self, data: bytes) -> None:
        self.left = iter(data)

    def below(self, most: int) -> int:
        return (next(self.left, 0) << 8 | next(self.left, 0)) % most if most > 256 else next(self.left, 0) % most

    def one(self, of: Any) -> Any:
        return of[self.below(len(of))]

    def value(self, depth: int = 0) -> Any:
        """A Python value, most of them JSON."""
        kind = self.below(16 if depth < 4 else 9)
        if kind < 3:
            return self.one(WORDS)
        if kind < 9:
            return self.one([5, -1, 10**30, True, False, None, 0.5, float("nan"), float("inf"), b"\xff", {1, 2},
                             object(), 2 + 1j, "7", (), bytearray(b"{}")])
        if kind < 12:
            return [self.value(depth + 1) for _ in range(self.below(4))]
        made = {self.one(KEYS): self.value(depth + 1) for _ in range(self.below(5))}
        return {7: made} if kind == 15 else made

    def json(self, depth: int = 0) -> str:
        """JSON text, or nearly."""
        kind = self.below(12 if depth < 6 else 6)
        if kind < 2:
            return json.dumps(self.one(WORDS), ensure_ascii=bool(self.below(2)))
        if kind < 4:
            return self.one(NUMBERS)
        if kind < 6:
            return self.one(["true", "false", "null", "None", "[]", "{}"])
        if kind < 8:
            return "[" + ", ".join(self.json(depth + 1) for _ in range(self.below(4))) + "]"
        pairs = (f"{json.dumps(self.one(KEYS), ensure_ascii=False)}: {self.json(depth + 1)}" for _ in range(self.below(5)))
        return "{" + ", ".join(pairs) + "}"

    def call(self) -> str:
        """The arguments of a call, often broken."""
        text = self.json() if self.below(4) == 0 else '{"path": ' + self.json(1) + ', "limit": ' + self.json(1) + "}"
        for _ in range(self.below(4)):
            at = self.below(len(text) + 1)
            text = self.one([
                lambda: text[:at] + self.one(PIECES) + text[at:],
                lambda: text[:at],
                lambda: text[:at] + text[at + 1:],
                lambda: self.one(PIECES) + text,
                lambda: json.dumps(text),
                lambda: "[" * self.one([1, 100, 300, 20_000]) + text,
            ])()
        return text

    def text(self) -> str:
        """What a model writes."""
        parts = [self.one([lambda: self.one(MARKERS), lambda: self.one(WORDS), self.call])() for _ in range(self.below(8))]
        return "".join(parts)


class Subclass(str):
    """A string that is not exactly one."""


TOOLS = goodcall.Tools([{"name": "save", "parameters": SCHEMA}, {"name": "any", "parameters": {"type": "object"}}])


def judged(verdict: goodcall.Verdict) -> None:
    """What holds for every verdict."""
    assert verdict.kind in ("good", "mended", "bad") and bool(verdict) is verdict.ok is (verdict.kind != "bad")
    shown = (repr(verdict), verdict.to_dict(), [str(one) for one in [*verdict.changes, *verdict.issues]])
    if verdict.ok:
        assert isinstance(verdict.arguments, dict) and verdict.text == "" and verdict.reason is None
        again = TOOLS.check(verdict.tool, verdict.json)
        assert again.kind == "good", (verdict.json, again.text)
        assert same(again.arguments, verdict.arguments), (verdict.json, again.arguments)
        assert (verdict.kind == "mended") is bool(verdict.changes)
    else:
        assert verdict.arguments is None and verdict.json is None and verdict.text and verdict.reason
        assert verdict.issues or verdict.reason
        for style in ("instruction", "numbered", "plain", "structured", "record"):
            assert verdict.explain(style)
    restored = pickle.loads(pickle.dumps(verdict))
    assert (repr(restored), restored.text) == (shown[0], verdict.text)


def same(a: Any, b: Any) -> bool:
    """Equal in values and types; a number that is not one is equal to itself."""
    return repr(a) == repr(b)


def check(of: Choices) -> None:
    raw = of.call()
    form = of.one([str, Subclass, lambda text: text.encode("utf-8", "surrogatepass"), bytes_like, None])
    given = of.value() if form is None else form(raw)
    name = of.one(["save", "any", "save", "functions.save", "sav", "\ud800", ""])
    more = of.one([{}, {}, {"stop": "finished"}, {"stop": "cut_off"}, {"policy": "eager"}, {"policy": "strict"}])
    verdict = TOOLS.check(name, given, **more)
    if verdict.kind == "good" and type(given) in (str, Subclass):
        assert verdict.json == given
        assert same(verdict.arguments, as_python_reads(given)) or has_unusual_numbers(given), given
    if more.get("policy") != "eager":
        judged(verdict)


def bytes_like(text: str) -> bytearray:
    return bytearray(text.encode("utf-8", "surrogatepass"))


def as_python_reads(text: str) -> Any:
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 4000 else digits)


def has_unusual_numbers(text: str) -> bool:
    """Whether a number may be an `int` where Python's json has a `float`, or a `Decimal`."""
    return any(letter in text for letter in ".eE") or re.search(r"\d{4000}", text) is not None


def extract(of: Choices) -> None:
    text = of.text()
    found = TOOLS.extract(text, scope=of.one(["explicit", "anywhere"]), stop=of.one([None, "finished", "cut_off"]))
    for call in found.calls:
        judged(call.verdict)
        assert 0 <= call.span[0] <= call.span[1] <= len(text.encode())
    assert isinstance(found.content, str) and repr(pickle.loads(pickle.dumps(found))) == repr(found)


def stream(of: Choices) -> None:
    made = goodcall.Stream(TOOLS, of.one(["openai", "anthropic", "gemini", "responses"]), scope=of.one([None, "explicit"]))
    updates = []
    for _ in range(of.below(6)):
        step = of.below(4)
        if step == 0:
            updates += made.push_text(of.text())
        elif step == 1:
            updates += made.push(of.value())
        else:
            call = {"index": of.below(3), "id": of.one([None, "a", "b"]),
                    "function": {"name": of.one(["save", None, "any"]), "arguments": of.call()}}
            updates += made.push({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
    updates += made.finish()
    for update in updates:
        assert repr(update)
        if update.call is not None:
            judged(update.call.verdict)


def definitions(of: Choices) -> None:
    schema = of.one([of.value, lambda: {"type": "object", "properties": {of.one(KEYS): of.value() for _ in range(3)}}])()
    name = of.one(["save", "", "a b", "\ud800", "n" * 500, 5, None])
    form = of.one([lambda: {"name": name, "parameters": schema}, lambda: [schema, {"name": name}], of.call, of.value])
    tools = goodcall.Tools(form(), policy=of.one([None, None, "safe", "eager", {"level": "safe"}, of.value()]))
    for name in tools.names:
        tools.check(name, of.call())
        assert name in tools and isinstance(tools.schema(name), dict)


def loops(of: Choices) -> None:
    detector = goodcall.LoopDetector()
    for _ in range(of.below(8)):
        result = of.one([of.value, lambda: TOOLS.check("save", of.call())])()
        report = detector.observe(of.one(["save", "\ud800"]), of.one([of.call, of.value])(), result, of.one([None, "runtime"]))
        assert report is None or report.text


def relay(of: Choices) -> None:
    made = _goodcall.Relay(reasks=of.below(3), scope=of.one([None, "anywhere"]), give_up=of.one(["as_sent", "text"]))
    tool = {"type": "function", "function": {"name": "save", "parameters": of.one([SCHEMA, of.value()])}}
    body = goodcall._json.dumps({"model": "m", "messages": [], "tools": [tool], "stream": bool(of.below(2))})
    path = of.one(["/v1/chat/completions", "/v1/messages", "/v1/responses", "/api/chat", "/v1beta/models/m:generateContent"])
    exchange = made.exchange("POST", path, ["content-type"], body.encode("utf-8", "replace"))
    if exchange is None:
        return
    call = {"id": "a", "type": "function", "function": {"name": "save", "arguments": of.call()}}
    if of.below(2):
        reply = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}]}
        answer = json.dumps(of.one([reply, of.call()])).encode()
        again, out = of.one([exchange.reply, exchange.failure])(answer)
        exchange.give_up() if again else out
        assert isinstance(exchange.summary(), str)
        return
    streamed = exchange.stream()
    delta = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **call}]}}]}
    events = f"data: {json.dumps(delta)}\n\n{of.text()}data: [DONE]\n\n".encode("utf-8", "replace")
    size = of.one([1, 7, 100_000])
    out = b"".join(streamed.push(events[at:at + size]) for at in range(0, len(events), size))
    again, rest = streamed.end()
    out += rest + (streamed.give_up() if again else b"")
    assert isinstance(out, bytes) and isinstance(streamed.records(), list)


TARGETS: list[Callable[[Choices], None]] = [check, check, check, extract, stream, definitions, loops, relay]


def one_input(data: bytes) -> None:
    """Runs one input. No error leaves goodcall but its own, and none of a mistake in itself."""
    of = Choices(data)
    target = of.one(TARGETS)
    try:
        target(of)
    except goodcall.InternalError:
        raise
    except goodcall.Error:
        pass


def random_input(rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice([8, 30, 100, 300]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--atheris", action="store_true")
    given, rest = parser.parse_known_args()
    if given.atheris:
        atheris.Setup([sys.argv[0], *rest], one_input)
        atheris.Fuzz()
        return
    rng, ran, end = random.Random(given.seed), 0, time.monotonic() + given.seconds
    while time.monotonic() < end:
        data = random_input(rng)
        try:
            one_input(data)
        except BaseException:
            print(f"after {ran} inputs, with the input bytes.fromhex({data.hex()!r}):", file=sys.stderr)
            raise
        ran += 1
    print(f"{ran} inputs, no finding")


if __name__ == "__main__":
    main()
