import pytest

agents = pytest.importorskip("agents")

from goodcall.openai_agents import good
from openai import AsyncOpenAI
from scripted import documented, six

agents.set_tracing_disabled(True)


def plain(tools):
    return agents.Agent(name="files", tools=tools)


def documented_agent(tools):
    return documented("openai-agents", tools=tools)["agent"]


def run(make):
    async def runs(url, save):
        model = agents.OpenAIChatCompletionsModel("m", AsyncOpenAI(base_url=url, api_key="k"))
        agent = make([agents.function_tool(save)])
        await agents.Runner.run(agent, "Save it.", run_config=agents.RunConfig(model=model))

    return runs


def test_six_calls():
    six("openai-agents", run(plain), run(documented_agent))


def test_one_tool_can_be_wrapped_alone():
    def save(path: str) -> str:
        return path

    tool = agents.function_tool(save)
    assert good(tool).name == "save" and good(tool).on_invoke_tool is not tool.on_invoke_tool
