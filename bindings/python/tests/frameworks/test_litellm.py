import json

import pytest

litellm = pytest.importorskip("litellm")

import httpx
from goodcall import httpx as goodcall_httpx
from goodcall.litellm import Goodcall
from scripted import SIX, Upstream, call, compare, documented, table

TOOL = {"type": "function", "function": {"name": "save", "parameters": {
    "type": "object",
    "properties": {"path": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
                   "limit": {"type": "integer"}},
    "required": ["path", "tags"],
}}}


async def reply(raw):
    with Upstream(call(raw)) as upstream:
        made = await litellm.acompletion(
            model="openai/m", api_base=upstream.url, api_key="k", tools=[TOOL],
            messages=[{"role": "user", "content": "Save it."}])
        return made.choices[0].message.tool_calls[0].function.arguments


async def test_six_calls():
    rows = []
    for name, (raw, meant) in SIX.items():
        before = await reply(raw)
        documented("litellm")
        try:
            after = await reply(raw)
        finally:
            litellm.callbacks = []
        if meant is None:
            assert after == raw, "a bad call stays as sent"
        else:
            assert json.loads(after) == meant, name
        rows.append((name, f"the caller gets `{before}`", f"the caller gets `{after}`"))
    compare("litellm", table(rows))


async def test_streams_of_the_proxy_are_mended():
    raw, meant = SIX["array in a string"]
    with Upstream(call(raw)) as upstream:
        stream = await litellm.acompletion(
            model="openai/m", api_base=upstream.url, api_key="k", tools=[TOOL], stream=True,
            messages=[{"role": "user", "content": "Save it."}])
        hook = Goodcall().async_post_call_streaming_iterator_hook(None, stream, {"tools": [TOOL]})
        calls = [one async for chunk in hook for one in chunk.choices[0].delta.tool_calls or []]
    one, = calls
    assert json.loads(one.function.arguments) == meant and one.function.name == "save"


def test_the_transport_asks_again_below_the_sync_sdk():
    raw, _ = SIX["required one missing"]
    good, meant = SIX["trailing comma"]
    litellm.client_session = httpx.Client(transport=goodcall_httpx.Transport(library=httpx))
    try:
        with Upstream(call(raw), call(good)) as upstream:
            made = litellm.completion(
                model="openai/m", api_base=upstream.url, api_key="k", tools=[TOOL],
                messages=[{"role": "user", "content": "Save it."}])
            assert json.loads(made.choices[0].message.tool_calls[0].function.arguments) == meant
            assert len(upstream.requests) == 2
    finally:
        litellm.client_session = None
