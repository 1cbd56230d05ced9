import pytest

pytest.importorskip("langchain")
pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from scripted import SIX, Upstream, call, documented, outcome, six


def agent(make, url, save, streamed=False):
    model = ChatOpenAI(model="m", base_url=url, api_key="k", streaming=streamed, use_responses_api=False)
    return make(model, [tool(save)])


def good(model, tools):
    return documented("langchain", model=model, tools=tools)["agent"]


def run(make):
    def runs(url, save):
        agent(make, url, save).invoke({"messages": [("user", "Save it.")]})

    return runs


def test_six_calls():
    six("langchain", run(create_agent), run(good))


def test_streamed_and_async_runs_are_judged():
    async def runs(url, save):
        made = agent(good, url, save, streamed=True)
        await made.ainvoke({"messages": [("user", "Save it.")]})

    for name in ("trailing comma", "array in a string"):
        raw, meant = SIX[name]
        assert outcome(raw, runs).ran == [{"limit": 10, **meant}]


def test_names_are_mended_and_unknown_ones_told():
    ran = []

    def save(path: str) -> str:
        """Saves."""
        ran.append(path)
        return "saved"

    with Upstream(call('{"path": "a"}', name="functions.save"), call("{}", name="sav", id="call_2")) as upstream:
        agent(good, upstream.url, save).invoke({"messages": [("user", "Save it.")]})
    assert ran == ["a"]
    told = upstream.requests[-1]["messages"][-1]
    assert told["role"] == "tool" and "no tool `sav`" in told["content"] and "save" in told["content"]
