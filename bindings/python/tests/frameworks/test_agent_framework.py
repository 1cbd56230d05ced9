import pytest

pytest.importorskip("agent_framework")
pytest.importorskip("agent_framework.openai")

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from goodcall.agent_framework import Goodcall
from scripted import six


def run(middleware):
    async def runs(url, save):
        client = OpenAIChatCompletionClient(model="m", base_url=url, api_key="k")
        await Agent(client, tools=[save], middleware=middleware).run("Save it.")

    return runs


def test_six_calls():
    six("agent-framework-core", run([]), run([Goodcall()]), unseen={"trailing comma", "cut off"})
