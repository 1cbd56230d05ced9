import pytest

pytest.importorskip("strands")
pytest.importorskip("openai")

from scripted import documented, six
from strands import Agent, tool
from strands.models.openai import OpenAIModel


def good(model, tools):
    return documented("strands-agents", model=model, tools=tools)["agent"]


def run(make):
    def runs(url, save):
        model = OpenAIModel(client_args={"base_url": url, "api_key": "k"}, model_id="m")
        make(model=model, tools=[tool(save)])("Save it.")

    return runs


def test_six_calls():
    six("strands-agents", run(Agent), run(good), unseen={"trailing comma", "cut off"})
