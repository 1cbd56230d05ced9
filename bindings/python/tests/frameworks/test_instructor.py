import json

import pytest

instructor = pytest.importorskip("instructor")

import openai
import pydantic
from goodcall import httpx as goodcall_httpx
from scripted import SIX, Upstream, call, compare, table


class save(pydantic.BaseModel):
    """Saves a file."""

    path: str
    tags: list[str]
    limit: int = 10


def asked(raw, transport):
    # The library whose clients OpenAI's package takes.
    library = __import__("httpx2" if hasattr(openai._base_client, "httpx2") else "httpx")
    http = library.Client(transport=goodcall_httpx.Transport(library=library, reasks=0)) if transport else None
    with Upstream(call(raw)) as upstream:
        client = instructor.from_openai(openai.OpenAI(base_url=upstream.url, api_key="k", http_client=http))
        try:
            made = client.chat.completions.create(
                model="m", response_model=save, max_retries=0, messages=[{"role": "user", "content": "Save it."}])
        except Exception as error:
            return None, f"raises `{type(error).__name__}`"
    values = {key: value for key, value in made.model_dump().items() if (key, value) != ("limit", 10)}
    return values, f"`{json.dumps(values)}`"


def test_six_calls():
    rows = []
    for name, (raw, meant) in SIX.items():
        (_, before), (made, after) = asked(raw, False), asked(raw, True)
        assert made == meant, name
        rows.append((name, before, after))
    compare("instructor", table(rows))
