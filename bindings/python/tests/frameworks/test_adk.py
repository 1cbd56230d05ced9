import pytest

pytest.importorskip("google.adk")
pytest.importorskip("litellm")

from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.genai import types
from scripted import documented, six


def good(agent):
    return documented("google-adk", agent=agent)["runner"]


def run(make):
    async def runs(url, save):
        model = LiteLlm(model="openai/m", api_base=url, api_key="k")
        agent = LlmAgent(name="a", model=model, tools=[save])
        runner = make(agent=agent)
        session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
        message = types.Content(role="user", parts=[types.Part(text="Save it.")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass

    return runs


def test_six_calls():
    # LiteLlm reads the text of arguments by itself.
    six("google-adk", run(InMemoryRunner), run(good), unseen={"trailing comma", "cut off"})
