import pytest

pytest.importorskip("pydantic_ai")
pytest.importorskip("openai")

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scripted import documented, six


def good(model, tools):
    return documented("pydantic-ai-slim", model=model, tools=tools)["agent"]


def run(make):
    def runs(url, save):
        model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="k"))
        make(model, tools=[save]).run_sync("Save it.")

    return runs


def test_six_calls():
    six("pydantic-ai-slim", run(Agent), run(good))
