import os

import pytest

os.environ.setdefault("CREWAI_DISABLE_TELEMETRY", "true")
os.environ.setdefault("CREWAI_TRACING_ENABLED", "false")
os.environ.setdefault("OTEL_SDK_DISABLED", "true")
crewai = pytest.importorskip("crewai")

import contextlib

from crewai import LLM, Agent
from crewai.tools import tool
from goodcall.crewai import Goodcall
from scripted import six


def run(around):
    def runs(url, save):
        llm = LLM(model="openai/gpt-4o", base_url=url, api_key="k", stream=False)
        agent = Agent(role="r", goal="g", backstory="b", llm=llm, tools=[tool("save")(save)], max_iter=3)
        with around():
            agent.kickoff("Save it.")

    return runs


def test_six_calls():
    six("crewai", run(contextlib.nullcontext), run(Goodcall), unseen={"trailing comma", "cut off"})
