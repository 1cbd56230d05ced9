import pytest

pytest.importorskip("llama_index.core")
pytest.importorskip("llama_index.llms.openai_like")

from goodcall.llama_index import good
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from scripted import six


def run(wrap):
    async def runs(url, save):
        llm = OpenAILike(model="m", api_base=url, api_key="k", is_chat_model=True, is_function_calling_model=True)
        agent = FunctionAgent(tools=wrap([FunctionTool.from_defaults(save)]), llm=llm, streaming=False)
        await agent.run("Save it.")

    return runs


def test_six_calls():
    six("llama-index-core", run(list), run(good), unseen={"trailing comma", "cut off"})
