import pytest

agents = pytest.importorskip("agents")

from goodcall.openai_agents import good
from openai import AsyncOpenAI
from scripted import six

agents.set_tracing_disabled(True)


def run(wrap):
    async def runs(url, save):
        model = agents.OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=url, api_key="k"))
        tools = wrap([agents.function_tool(save)])
        await agents.Runner.run(agents.Agent(name="a", model=model, tools=tools), "Save it.")

    return runs


def test_six_calls():
    six("openai-agents", run(list), run(good))


def test_one_tool_can_be_wrapped_alone():
    def save(path: str) -> str:
        return path

    tool = agents.function_tool(save)
    assert good(tool).name == "save" and good(tool).on_invoke_tool is not tool.on_invoke_tool
