import pytest

pytest.importorskip("strands")
pytest.importorskip("openai")

from goodcall.strands import Goodcall
from scripted import six
from strands import Agent, tool
from strands.models.openai import OpenAIModel


def run(hooks):
    def runs(url, save):
        model = OpenAIModel(client_args={"base_url": url, "api_key": "k"}, model_id="m")
        Agent(model=model, tools=[tool(save)], hooks=hooks, callback_handler=None)("Save it.")

    return runs


def test_six_calls():
    six("strands-agents", run([]), run([Goodcall()]), unseen={"trailing comma", "cut off"})
