import os

import pytest

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
crewai = pytest.importorskip("crewai")

import types

from crewai import LLM, Agent
from crewai.tools import tool
from scripted import documented, six


def plain(crew):
    crew.kickoff()


def good(crew):
    documented("crewai", crew=crew)


def run(start):
    def runs(url, save):
        llm = LLM(model="openai/gpt-4o", base_url=url, api_key="k", stream=False)
        agent = Agent(role="r", goal="g", backstory="b", llm=llm, tools=[tool("save")(save)], max_iter=3)
        start(types.SimpleNamespace(kickoff=lambda: agent.kickoff("Save it.")))

    return runs


def test_six_calls():
    six("crewai", run(plain), run(good), unseen={"trailing comma", "cut off"})
