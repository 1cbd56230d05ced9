"""A model that answers as it is told, on a loopback address, and the six bad calls."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.metadata
import inspect
import json
import os
import pathlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Iterator

DOCUMENT = pathlib.Path(__file__).parents[4] / "docs" / "python-frameworks.md"

#: Six calls of `save(path: str, tags: list[str], limit: int = 10)`, and what they can only mean.
SIX: dict[str, tuple[str, dict[str, Any] | None]] = {
    "array in a string": ('{"path": "a", "tags": "[\\"x\\", \\"y\\"]"}', {"path": "a", "tags": ["x", "y"]}),
    "trailing comma": ('{"path": "a", "tags": ["x"],}', {"path": "a", "tags": ["x"]}),
    "wrapped in `arguments`": ('{"arguments": {"path": "a", "tags": ["x"]}}', {"path": "a", "tags": ["x"]}),
    "`null` for an optional": ('{"path": "a", "tags": ["x"], "limit": null}', {"path": "a", "tags": ["x"]}),
    "cut off": ('{"path": "a", "tags": ["x', None),
    "required one missing": ('{"tags": ["x"], "limit": 5}', None),
}


def call(arguments: str, name: str = "save", id: str = "call_1") -> dict[str, Any]:
    """An assistant message with one call."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None,
            "tool_calls": [{"id": id, "type": "function", "function": function}]}


def text(words: str = "done") -> dict[str, Any]:
    return {"role": "assistant", "content": words}


class Upstream:
    """An OpenAI-compatible server that sends the replies of its script, one per request, and then text."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        self.replies = list(replies)
        self.requests: list[dict[str, Any]] = []

    def __enter__(self) -> Upstream:
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                upstream.requests.append(body)
                message = upstream.replies.pop(0) if upstream.replies else text()
                content = stream(message) if body.get("stream") else whole(message)
                self.send_response(200)
                kind = "text/event-stream" if body.get("stream") else "application/json"
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        return self

    def __exit__(self, *error: Any) -> None:
        self.server.shutdown()
        self.server.server_close()

    def told(self) -> str | None:
        """What the model read about its call: the result in the next request, or what a message of the
        user has become."""
        first = text_of(self.requests[0]["messages"][-1])
        for request in self.requests[1:]:
            for message in reversed(request["messages"]):
                content = text_of(message)
                if message["role"] == "tool":
                    return content
                if message["role"] == "user" and content != first:
                    return content.removeprefix(first).strip()
        return None


def text_of(message: dict[str, Any]) -> str:
    content = message["content"] or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def finish_reason(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def whole(message: dict[str, Any]) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": finish_reason(message)}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                       "choices": [choice], "usage": usage}).encode()


def stream(message: dict[str, Any]) -> bytes:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return "data: " + json.dumps({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                                      "choices": [choice]}) + "\n\n"

    out = [chunk({"role": "assistant", "content": message.get("content") or ""})]
    for index, one in enumerate(message.get("tool_calls", [])):
        arguments = one["function"]["arguments"]
        head = {"index": index, "id": one["id"], "type": "function",
                "function": {"name": one["function"]["name"], "arguments": ""}}
        out.append(chunk({"tool_calls": [head]}))
        for at in range(0, len(arguments), 7):
            piece = {"index": index, "function": {"arguments": arguments[at:at + 7]}}
            out.append(chunk({"tool_calls": [piece]}))
    out.append(chunk({}, finish_reason(message)))
    return ("".join(out) + "data: [DONE]\n\n").encode()


@dataclasses.dataclass
class Outcome:
    """What came of one call: what the tool ran with, what the model read, or the error of the run."""

    ran: list[dict[str, Any]]
    told: str | None
    error: str | None

    def __str__(self) -> str:
        if self.ran:
            shown = {key: value for key, value in self.ran[0].items() if (key, value) != ("limit", 10)}
            return f"runs with `{json.dumps(shown)}`"
        if self.error:
            return f"the run raises {self.error}"
        if self.told:
            return f"refused: {first_words(self.told)}"
        return "the run ends, and nobody is told"


def first_words(told: str) -> str:
    words = " ".join(told.split())
    words = re.sub(r"0x[0-9a-f]+|call_\w+", "…", words)
    words = words if len(words) <= 150 else words[:150].rstrip() + "…"
    return words.replace("|", "\\|").replace("<", "&lt;")


def outcome(raw: str, run: Callable[..., Any]) -> Outcome:
    """Runs an agent against a model that makes one call and then ends."""
    ran: list[dict[str, Any]] = []

    def save(path: str, tags: list[str], limit: int = 10) -> str:
        """Saves a file."""
        ran.append({"path": path, "tags": tags, "limit": limit})
        return "saved"

    with Upstream(call(raw)) as upstream:
        try:
            result = run(upstream.url, save)
            if inspect.iscoroutine(result):
                asyncio.run(result)
            error = None
        except Exception as raised:
            error = f"`{type(raised).__name__}`"
        return Outcome(ran, upstream.told(), error)


def documented(package: str, **given: Any) -> dict[str, Any]:
    """Runs the program that the documentation shows for a framework with these names given, and returns
    all its names."""
    before, found, _ = DOCUMENT.read_text().partition(f"<!-- {package} -->\n")
    assert found, f"{DOCUMENT.name} has no section for {package}"
    exec(re.findall(r"```python\n(.*?)```", before, re.S)[-1], given)
    return given


def table(rows: Iterator[tuple[str, str, str]]) -> str:
    lines = ["| the call | today | with goodcall |", "|---|---|---|"]
    return "\n".join(lines + [f"| {name} | {today} | {good} |" for name, today, good in rows]) + "\n"


def six(package: str, today: Callable[..., Any], good: Callable[..., Any], *, unseen: set[str] = set()) -> None:
    """Runs the six calls with and without goodcall: what can only mean one thing must run with that, and
    the model must be told of the others. Compares with the table in the documentation, or writes it.

    ``unseen`` are calls that the framework reads by itself before its hook sees them."""
    rows = []
    for name, (raw, meant) in SIX.items():
        before, after = outcome(raw, today), outcome(raw, good)
        if name in unseen:
            assert after.ran in ([], before.ran), f"{name}: {after}"
        elif meant is None:
            assert after.ran == [], f"{name}: {after}"
            assert after.told and "save" in after.told and "not run" in after.told, f"{name}: {after}"
        else:
            assert after.ran == [{"limit": 10, **meant}], f"{name}: {after}"
        rows.append((name, str(before), str(after)))
    compare(package, table(iter(rows)))


def compare(package: str, written: str) -> None:
    version = importlib.metadata.version(package)
    begin, end = f"<!-- {package} -->\n", "<!-- end -->"
    document = DOCUMENT.read_text()
    head, _, rest = document.partition(begin)
    assert rest, f"{DOCUMENT.name} has no section for {package}"
    old, _, tail = rest.partition(end)
    new = f"\n`{package}` {version}:\n\n{written}\n"
    if os.environ.get("GOODCALL_BLESS"):
        DOCUMENT.write_text(head + begin + new + end + tail)
    elif f"` {version}:" in old:
        # Another version of the framework may say other things; what goodcall does is asserted above.
        assert old == new, f"{DOCUMENT.name} differs: GOODCALL_BLESS=1 rewrites it"
