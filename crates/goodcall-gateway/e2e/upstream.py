"""A model provider that replays replies: the scenario is the model's name.

Speaks OpenAI Chat Completions, OpenAI Responses and Anthropic Messages, whole and streamed. A reply
is wrong as the scenario says, until the history holds the answer of a gate to it.
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD = '{"city": "Oslo", "days": 3}'


def calls_of(scenario, told):
    """The arguments of each call, as the model writes them."""
    if told:
        return [GOOD]
    return {
        "good": [GOOD],
        "parallel": [GOOD, '{"city": "Bergen", "days": 1}'],
        "index-0": [GOOD, '{"city": "Bergen", "days": 1}'],
        "mended": ['{"City": "Oslo", "days": "3"}'],
        "lenient": ["{city: 'Oslo', 'days': 3,}"],
        "bad": ['{"days": 3}'],
        "cut": ['{"city": "Os'],
        "unknown": [GOOD],
    }.get(scenario, [GOOD])


def name_of(scenario, told):
    return "wether_report" if scenario == "unknown" and not told else "weather"


def pieces(text, size=7):
    return [text[i:i + size] for i in range(0, len(text), size)] or [""]


class Chat:
    def __init__(self, scenario, told):
        self.scenario, self.told = scenario, told
        self.calls, self.name = calls_of(scenario, told), name_of(scenario, told)
        self.wrong = not told
        self.reason = "length" if scenario == "cut" and self.wrong else "tool_calls"
        if scenario == "stop-reason" and self.wrong:
            self.reason = "stop"

    def is_text(self):
        return self.scenario == "text" and self.wrong

    def text(self):
        return "Let me see.\n<tool_call>\n" + json.dumps({"name": "weather", "arguments": json.loads(GOOD)}) + "\n</tool_call>"

    def call(self, index, arguments):
        return {"id": f"call_{index}", "type": "function", "function": {"name": self.name, "arguments": arguments}}

    def whole(self):
        message = {"role": "assistant", "content": "Let me see."}
        if self.is_text():
            message["content"], self.reason = self.text(), "stop"
        else:
            message["tool_calls"] = [self.call(i, a) for i, a in enumerate(self.calls)]
            if self.scenario == "object" and self.wrong:
                message["tool_calls"][0]["function"]["arguments"] = json.loads(GOOD)
        return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": self.scenario,
                "choices": [{"index": 0, "message": message, "finish_reason": self.reason, "logprobs": None}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}

    def chunk(self, delta, reason=None):
        return None, json.dumps({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                                 "model": self.scenario, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    def stream(self):
        yield self.chunk({"role": "assistant", "content": ""})
        if self.is_text():
            for piece in pieces(self.text()):
                yield self.chunk({"content": piece})
            yield self.chunk({}, "stop")
            yield None, "[DONE]"
            return
        yield self.chunk({"content": "Let me see."})
        for index, arguments in enumerate(self.calls):
            shown = 0 if self.scenario == "index-0" and self.wrong else index
            for count, piece in enumerate(pieces(arguments)):
                call = {"index": shown, "function": {"arguments": piece}}
                if count == 0 or (self.scenario == "name-repeated" and self.wrong):
                    call.update(id=f"call_{index}", type="function")
                    call["function"]["name"] = self.name
                if self.scenario == "object" and self.wrong:
                    call["function"]["arguments"] = json.loads(arguments)
                    yield self.chunk({"tool_calls": [call]})
                    break
                yield self.chunk({"tool_calls": [call]})
        if not (self.scenario == "no-end" and self.wrong):
            yield self.chunk({}, self.reason)
            yield None, "[DONE]"


class Messages(Chat):
    def blocks(self):
        text = {"type": "text", "text": "Let me see."}
        if self.is_text():
            text["text"] = self.text()
            return [text]
        return [text] + [{"type": "tool_use", "id": f"toolu_{i}", "name": self.name, "input": a} for i, a in enumerate(self.calls)]

    def stop(self):
        if self.is_text() or (self.scenario == "stop-reason" and self.wrong):
            return "end_turn"
        return "max_tokens" if self.reason == "length" else "tool_use"

    def whole(self):
        blocks = self.blocks()
        for block in blocks[1:]:
            try:
                block["input"] = json.loads(block["input"])
            except ValueError:
                block["input"] = {}
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": self.scenario, "content": blocks,
                "stop_reason": self.stop(), "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5}}

    def stream(self):
        def event(kind, **rest):
            return kind, json.dumps({"type": kind, **rest})
        whole = self.whole()
        yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}})
        yield event("ping")
        for index, block in enumerate(self.blocks()):
            if block["type"] == "text":
                yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
                for piece in pieces(block["text"]):
                    yield event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece})
            else:
                yield event("content_block_start", index=index, content_block={**block, "input": {}})
                for piece in pieces(block["input"]):
                    yield event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
            yield event("content_block_stop", index=index)
        yield event("message_delta", delta={"stop_reason": self.stop(), "stop_sequence": None}, usage={"output_tokens": 5})
        yield event("message_stop")


class Responses(Chat):
    def items(self):
        text = self.text() if self.is_text() else "Let me see."
        message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
                   "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]}
        calls = [] if self.is_text() else self.calls
        return [message] + [{"type": "function_call", "id": f"fc_{i}", "call_id": f"call_{i}", "name": self.name,
                             "arguments": a, "status": "completed"} for i, a in enumerate(calls)]

    def whole(self, output=None, status="completed"):
        return {"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": self.scenario,
                "output": self.items() if output is None else output, "parallel_tool_calls": True, "tool_choice": "auto",
                "tools": [], "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
                "temperature": 1.0, "top_p": 1.0,
                "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                          "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}

    def stream(self):
        count = 0

        def event(kind, **rest):
            nonlocal count
            count += 1
            return kind, json.dumps({"type": kind, **rest, "sequence_number": count - 1})
        yield event("response.created", response=self.whole([], "in_progress"))
        for index, item in enumerate(self.items()):
            place = {"item_id": item["id"], "output_index": index}
            if item["type"] == "message":
                text = item["content"][0]["text"]
                yield event("response.output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"})
                yield event("response.content_part.added", **place, content_index=0, part={**item["content"][0], "text": ""})
                for piece in pieces(text):
                    yield event("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
                yield event("response.output_text.done", **place, content_index=0, text=text, logprobs=[])
                yield event("response.content_part.done", **place, content_index=0, part=item["content"][0])
            else:
                yield event("response.output_item.added", output_index=index, item={**item, "arguments": "", "status": "in_progress"})
                for piece in pieces(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **place, delta=piece)
                yield event("response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=self.whole())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "good", "object": "model"}]})

    def reply(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.split("?")[0]
        kind = Chat if path.endswith("/chat/completions") else Responses if path.endswith("/responses") else Messages
        if not (self.headers.get("authorization") or self.headers.get("x-api-key")):
            return self.reply({"error": {"type": "authentication_error", "message": "no key"}}, 401)
        scenario = request["model"]
        if scenario == "error":
            return self.reply({"type": "error", "error": {"type": "invalid_request_error", "message": "no such model"}}, 404)
        history = json.dumps(request.get("messages") or request.get("input"))
        told = "was not run" in history or "There is no tool" in history
        replay = kind(scenario, told)
        if not request.get("stream"):
            return self.reply(replay.whole())
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in replay.stream():
            event = f"event: {name}\n" if name else ""
            self.wfile.write(f"{event}data: {data}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    sys.stdout.close()
    server.serve_forever()
