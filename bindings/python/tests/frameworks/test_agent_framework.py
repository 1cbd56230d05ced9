import pytest

pytest.importorskip("agent_framework")
pytest.importorskip("agent_framework.openai")

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from scripted import documented, six


def good(client, tools):
    return documented("agent-framework-core", client=client, tools=tools)["agent"]


def run(make):
    async def runs(url, save):
        client = OpenAIChatCompletionClient(model="m", base_url=url, api_key="k")
        await make(client, tools=[save]).run("Save it.")

    return runs


def test_six_calls():
    six("agent-framework-core", run(Agent), run(good))
