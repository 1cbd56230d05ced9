"""The transport, against a scripted upstream, with the providers' own clients."""

import asyncio
import json
import sys
import pathlib

import goodcall
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "frameworks"))
from scripted import Upstream, call, text  # noqa: E402

httpx = pytest.importorskip("httpx")
from goodcall import httpx as goodcall_httpx  # noqa: E402

TOOL = {"type": "function", "function": {"name": "save", "parameters": {
    "type": "object",
    "properties": {"path": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["path", "tags"],
}}}
MENDED = '{"path":"a","tags":["x"]}'
BROKEN = '{"path": "a", "tags": "[\\"x\\"]",}'
MESSAGES = [{"role": "user", "content": "Save it."}]


def libraries():
    found = [httpx]
    try:
        import httpx2
        found.append(httpx2)
    except ImportError:
        pass
    return found


@pytest.mark.parametrize("library", libraries(), ids=lambda library: library.__name__)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_calls_are_mended_on_their_way(library, streamed):
    seen = []
    transport = goodcall_httpx.Transport(library=library, on_calls=seen.extend)
    body = {"model": "m", "messages": MESSAGES, "tools": [TOOL], "stream": streamed}
    with Upstream(call(BROKEN)) as upstream, library.Client(transport=transport) as client:
        reply = client.post(upstream.url + "/chat/completions", json=body)
        assert arguments(reply, streamed) == MENDED
        assert len(upstream.requests) == 1
        if not streamed:
            assert reply.headers["goodcall-verdict"] == "good=0 mended=1 bad=0 reasked=0"
    assert [(record["tool"], record["verdict"]) for record in seen] == [("save", "mended")]


@pytest.mark.parametrize("library", libraries(), ids=lambda library: library.__name__)
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_model_is_asked_again(library, streamed):
    transport = goodcall_httpx.AsyncTransport(library=library)
    body = {"model": "m", "messages": MESSAGES, "tools": [TOOL], "stream": streamed}

    async def main():
        with Upstream(call('{"path": "a"}'), call(BROKEN)) as upstream:
            async with library.AsyncClient(transport=transport) as client:
                reply = await client.post(upstream.url + "/chat/completions", json=body)
                await reply.aread()
                assert arguments(reply, streamed) == MENDED
                first, second = upstream.requests
                assert first["messages"] == MESSAGES
                assert second["messages"][-1]["role"] == "tool" and "tags" in second["messages"][-1]["content"]

    asyncio.run(main())


def arguments(reply, streamed):
    if not streamed:
        return reply.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    events = [line[6:] for line in reply.text.splitlines() if line.startswith("data: {")]
    deltas = [choice["delta"] for event in events for choice in json.loads(event)["choices"]]
    calls = [one for delta in deltas for one in delta.get("tool_calls", [])]
    return "".join(one["function"].get("arguments", "") for one in calls)


def test_a_call_that_stays_bad_is_handed_on():
    body = {"model": "m", "messages": MESSAGES, "tools": [TOOL]}
    for give_up, shown in (("as_sent", "{}"), ("text", None)):
        transport = goodcall_httpx.Transport(library=httpx, reasks=1, give_up=give_up)
        with Upstream(call("{}"), call("{}"), text("not asked for")) as upstream:
            with httpx.Client(transport=transport) as client:
                message = client.post(upstream.url + "/chat/completions", json=body).json()["choices"][0]["message"]
        assert len(upstream.requests) == 2
        if shown:
            assert message["tool_calls"][0]["function"]["arguments"] == shown
        else:
            assert not message.get("tool_calls") and "save" in message["content"]


def test_everything_else_passes_untouched():
    def answer(request):
        if request.url.path == "/v1/models":
            return httpx.Response(200, json={"path": request.url.path})
        return httpx.Response(429, headers={"retry-after": "3"}, json={"error": {"message": "slow down"}})

    transport = goodcall_httpx.Transport(httpx.MockTransport(answer))
    with httpx.Client(transport=transport) as client:
        assert client.get("http://up/v1/models").json() == {"path": "/v1/models"}
        body = {"model": "m", "messages": MESSAGES, "tools": [TOOL]}
        refused = client.post("http://up/v1/chat/completions", json=body)
        assert refused.status_code == 429 and refused.headers["retry-after"] == "3"


def test_a_failed_re_ask_leaves_the_first_reply():
    replies = iter([httpx.Response(200, json=json.loads(scripted_reply("{}"))), httpx.ConnectError("gone")])

    def answer(request):
        reply = next(replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    transport = goodcall_httpx.Transport(httpx.MockTransport(answer))
    with httpx.Client(transport=transport) as client:
        body = {"model": "m", "messages": MESSAGES, "tools": [TOOL]}
        reply = client.post("http://up/v1/chat/completions", json=body)
    assert arguments(reply, False) == "{}"


def test_a_re_ask_is_another_request():
    seen = []

    def answer(request):
        seen.append(request.headers.get("idempotency-key"))
        return httpx.Response(200, json=json.loads(scripted_reply("{}")))

    with httpx.Client(transport=goodcall_httpx.Transport(httpx.MockTransport(answer), reasks=1)) as client:
        body = {"model": "m", "messages": MESSAGES, "tools": [TOOL]}
        client.post("http://up/v1/chat/completions", json=body, headers={"idempotency-key": "k"})
    assert seen == ["k", None]


def test_a_signed_request_is_sent_once_and_as_it_is():
    def use(arguments):
        content = [{"toolUse": {"toolUseId": "t", "name": "save", "input": arguments}}]
        return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "tool_use"}

    replies = iter([use({"path": "a", "tags": '["x"]'}), use({"path": "a"})])
    sent = []

    def answer(request):
        sent.append(request.content)
        return httpx.Response(200, json=next(replies))

    spec = {"name": "save", "inputSchema": {"json": TOOL["function"]["parameters"]}}
    # A history with a call that has no result, which is corrected where nothing is signed.
    history = [{"role": "user", "content": [{"text": "Save it."}]},
               {"role": "assistant", "content": [{"toolUse": {"toolUseId": "s", "name": "save", "input": {}}}]},
               {"role": "user", "content": [{"text": "Again."}]}]
    body = json.dumps({"messages": history, "toolConfig": {"tools": [{"toolSpec": spec}]}}).encode()
    headers = {"authorization": "AWS4-HMAC-SHA256 Credential=k"}
    with httpx.Client(transport=goodcall_httpx.Transport(httpx.MockTransport(answer))) as client:
        def arguments():
            reply = client.post("http://up/model/m/converse", content=body, headers=headers).json()
            return reply["output"]["message"]["content"][0]["toolUse"]["input"]

        assert arguments() == {"path": "a", "tags": ["x"]}
        assert arguments() == {"path": "a"}
    assert sent == [body, body]


def scripted_reply(raw):
    from scripted import whole
    return whole(call(raw))


def test_settings_are_checked():
    for wrong in ({"give_up": "x"}, {"policy": "lax"}, {"style": "loud"}, {"scope": "x"}):
        with pytest.raises(goodcall.SettingError, match="expected"):
            goodcall_httpx.Transport(httpx.MockTransport(lambda request: None), **wrong)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_openai_client_gets_mended_calls(streamed):
    openai = pytest.importorskip("openai")
    library = client_library(openai)
    http = library.Client(transport=goodcall_httpx.Transport(library=library))
    with Upstream(call('{"path": "a"}'), call(BROKEN)) as upstream:
        client = openai.OpenAI(api_key="k", base_url=upstream.url, http_client=http)
        reply = client.chat.completions.create(model="m", messages=MESSAGES, tools=[TOOL], stream=streamed)
        if streamed:
            deltas = [one for chunk in reply for one in chunk.choices[0].delta.tool_calls or []]
            assert "".join(one.function.arguments or "" for one in deltas) == MENDED
        else:
            assert reply.choices[0].message.tool_calls[0].function.arguments == MENDED


def client_library(package):
    """The library whose clients this package takes."""
    import inspect
    source = inspect.getsource(sys.modules[package.__name__ + "._base_client"])
    return __import__("httpx2" if "import httpx2" in source else "httpx")


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_anthropic_client_gets_mended_calls(streamed):
    anthropic = pytest.importorskip("anthropic")
    library = client_library(anthropic)
    requests = []

    def answer(request):
        body = json.loads(request.content)
        requests.append(body)
        given = {"path": "a"} if len(requests) == 1 else {"path": "a", "tags": '["x"]'}
        if body.get("stream"):
            return library.Response(200, headers={"content-type": "text/event-stream"}, content=events(given))
        content = [{"type": "tool_use", "id": f"toolu_{len(requests)}", "name": "save", "input": given}]
        return library.Response(200, json=message(content, "tool_use"))

    def message(content, stop):
        return {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
                "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}

    def events(given):
        block = {"type": "tool_use", "id": f"toolu_{len(requests)}", "name": "save", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        stop = {"stop_reason": "tool_use", "stop_sequence": None}
        parts = [{"type": "message_start", "message": message([], None)},
                 {"type": "content_block_start", "index": 0, "content_block": block},
                 {"type": "content_block_delta", "index": 0, "delta": delta},
                 {"type": "content_block_stop", "index": 0},
                 {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}},
                 {"type": "message_stop"}]
        return "".join(f"event: {part['type']}\ndata: {json.dumps(part)}\n\n" for part in parts).encode()

    inner = library.MockTransport(answer)
    http = library.Client(transport=goodcall_httpx.Transport(inner))
    client = anthropic.Anthropic(api_key="k", base_url="http://up", http_client=http)
    tool = {"name": "save", "input_schema": TOOL["function"]["parameters"]}
    asked = {"model": "m", "max_tokens": 9, "messages": MESSAGES, "tools": [tool]}
    if streamed:
        with client.messages.stream(**asked) as stream:
            reply = stream.get_final_message()
    else:
        reply = client.messages.create(**asked)
    used, = [block for block in reply.content if block.type == "tool_use"]
    assert used.input == {"path": "a", "tags": ["x"]} and len(requests) == 2


def gemini(calls, *, streamed, array=False):
    """Replies of Gemini with one call each; streamed as events, or as an array without `alt=sse`."""
    requests = []

    def answer(request):
        requests.append(json.loads(request.content))
        part = {"functionCall": {"name": "save", "args": calls[min(len(requests), len(calls)) - 1]}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        reply = {"candidates": [candidate], "modelVersion": "g", "responseId": "r",
                 "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        assert ("streamGenerateContent" in str(request.url)) is streamed
        if streamed and not array:
            content = f"data: {json.dumps(reply)}\r\n\r\n".encode()
            return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)
        return httpx.Response(200, json=[reply] if array else reply)

    return requests, httpx.MockTransport(answer)


SAVE = {"name": "save", "parameters": {"type": "OBJECT", "required": ["path", "tags"], "properties": {
    "path": {"type": "STRING"}, "tags": {"type": "ARRAY", "items": {"type": "STRING"}}}}}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_the_gemini_client_gets_mended_calls(streamed):
    genai = pytest.importorskip("google.genai")
    requests, inner = gemini([{"path": "a"}, {"path": "a", "tags": '["x"]'}], streamed=streamed)
    http = httpx.Client(transport=goodcall_httpx.Transport(inner, library=httpx))
    client = genai.Client(api_key="k", http_options=genai.types.HttpOptions(base_url="http://up", httpx_client=http))
    config = genai.types.GenerateContentConfig(
        tools=[genai.types.Tool(function_declarations=[SAVE])],
        automatic_function_calling=genai.types.AutomaticFunctionCallingConfig(disable=True))
    models = client.models
    asked = {"model": "g", "contents": "Save it.", "config": config}
    replies = models.generate_content_stream(**asked) if streamed else [models.generate_content(**asked)]
    call, = [call for reply in replies for call in reply.function_calls or []]
    assert (call.name, call.args) == ("save", {"path": "a", "tags": ["x"]})
    first, second = requests
    told = second["contents"][-1]["parts"][0]["functionResponse"]
    assert told["name"] == "save" and "tags" in json.dumps(told)


@pytest.mark.parametrize("array", [False, True], ids=["events", "array"])
def test_gemini_is_judged_without_its_client(array):
    requests, inner = gemini([{"path": "a", "tags": '["x"]'}], streamed=True, array=array)
    body = {"contents": [{"role": "user", "parts": [{"text": "Save it."}]}], "tools": [{"functionDeclarations": [SAVE]}]}
    url = "http://up/v1beta/models/g:streamGenerateContent" + ("" if array else "?alt=sse")
    seen = []
    with httpx.Client(transport=goodcall_httpx.Transport(inner, library=httpx, on_calls=seen.extend)) as client:
        text = client.post(url, json=body).text
    replies = json.loads(text) if array else [json.loads(line[5:]) for line in text.splitlines() if line]
    parts = [part for reply in replies for part in reply["candidates"][0]["content"]["parts"]]
    assert [part["functionCall"]["args"] for part in parts if "functionCall" in part] == [{"path": "a", "tags": ["x"]}]
    assert [(record["tool"], record["verdict"]) for record in seen] == [("save", "mended")]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_call_that_the_server_could_not_read_is_read_here(streamed):
    """Some servers answer with an error that quotes the model's text."""
    def answer(request):
        quoted = "<function=save>{\"path\": \"a\", \"tags\": \"[\\\"x\\\"]\"}</function>"
        error = {"message": "Failed to call a function.", "type": "invalid_request_error",
                 "code": "tool_use_failed", "failed_generation": quoted}
        return httpx.Response(400, json={"error": error})

    body = {"model": "m", "messages": MESSAGES, "tools": [TOOL], "stream": streamed}
    with httpx.Client(transport=goodcall_httpx.Transport(httpx.MockTransport(answer), library=httpx)) as client:
        reply = client.post("http://up/v1/chat/completions", json=body)
    assert reply.status_code == 200 and arguments(reply, streamed) == MENDED


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_any_other_error_stays_what_it_is(streamed):
    def answer(request):
        return httpx.Response(400, json={"error": {"message": "context length exceeded"}})

    async def main():
        transport = goodcall_httpx.AsyncTransport(httpx.MockTransport(answer), library=httpx)
        body = {"model": "m", "messages": MESSAGES, "tools": [TOOL], "stream": streamed}
        async with httpx.AsyncClient(transport=transport) as client:
            reply = await client.post("http://up/v1/chat/completions", json=body)
            assert reply.status_code == 400 and reply.json()["error"]["message"] == "context length exceeded"
            assert "goodcall-verdict" not in reply.headers

    asyncio.run(main())


def test_ollama_is_judged():
    def answer(request):
        call = {"function": {"name": "save", "arguments": {"path": "a", "tags": '["x"]'}}}
        line = {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": True}
        return httpx.Response(200, headers={"content-type": "application/x-ndjson"}, content=json.dumps(line) + "\n")

    body = {"model": "m", "messages": MESSAGES, "tools": [TOOL]}
    with httpx.Client(transport=goodcall_httpx.Transport(httpx.MockTransport(answer), library=httpx)) as client:
        lines = client.post("http://up/api/chat", json=body).text.splitlines()
    calls = [call for line in lines for call in json.loads(line)["message"].get("tool_calls") or []]
    assert [call["function"]["arguments"] for call in calls] == [{"path": "a", "tags": ["x"]}]
