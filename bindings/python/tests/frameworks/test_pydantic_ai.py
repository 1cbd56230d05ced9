import pytest

pytest.importorskip("pydantic_ai")
pytest.importorskip("openai")

from goodcall.pydantic_ai import Goodcall
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scripted import six


def run(capabilities):
    def runs(url, save):
        model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="k"))
        Agent(model, tools=[save], capabilities=capabilities).run_sync("Save it.")

    return runs


def test_six_calls():
    six("pydantic-ai-slim", run([]), run([Goodcall()]))
