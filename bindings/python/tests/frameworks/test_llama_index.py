import pytest

pytest.importorskip("llama_index.core")
pytest.importorskip("llama_index.llms.openai_like")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from scripted import documented, six


def good(tools, llm):
    return documented("llama-index-core", tools=tools, llm=llm)["agent"]


def run(make):
    async def runs(url, save):
        llm = OpenAILike(model="m", api_base=url, api_key="k", is_chat_model=True, is_function_calling_model=True)
        agent = make(tools=[FunctionTool.from_defaults(save)], llm=llm)
        agent.streaming = False
        await agent.run("Save it.")

    return runs


def test_six_calls():
    six("llama-index-core", run(FunctionAgent), run(good), unseen={"trailing comma", "cut off"})
