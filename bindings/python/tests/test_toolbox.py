"""Functions that a model calls."""

import asyncio

import goodcall
import pytest


@goodcall.tool
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@goodcall.tool(name="fetch", description="Gets a page.")
async def fetch_page(url: str) -> dict:
    await asyncio.sleep(0)
    return {"url": url}


@goodcall.tool
def no(reason: str) -> str:
    raise goodcall.ToolError(reason)


@goodcall.tool
def broken() -> str:
    raise KeyError("x")


@pytest.fixture
def box():
    return goodcall.Toolbox([add, fetch_page, no, broken])


def test_a_tool_stays_a_function():
    assert add(2, b=3) == 5 and add.name == "add" and add.__doc__ == "Adds two numbers."
    assert fetch_page.definition["description"] == "Gets a page."


def test_calls_run_with_mended_arguments(box):
    result = box.call("add", '{"a": "2", "b": 3,}')
    assert (result.ok, result.value, result.text, result.error) == (True, 5, "5", None)
    assert result.verdict.kind == "mended" and result.recommendations == []


def test_async_functions_run_from_both_worlds(box):
    assert box.call("fetch", '{"url": "u"}').text == '{"url": "u"}'

    async def main():
        with pytest.raises(goodcall.InputError, match="acall"):
            box.call("fetch", '{"url": "u"}')
        fetched, added = await asyncio.gather(box.acall("fetch", '{"url": "u"}'), box.acall("add", '{"a": 1}'))
        assert fetched.value == {"url": "u"} and added.value == 2
        assert (await box.acall("add", "{}")).error == "validation"

    asyncio.run(main())


def test_errors_have_classes(box):
    assert box.call("no", '{"reason": "not today"}').error == "logical"
    assert box.call("no", '{"reason": "not today"}').text == "not today"
    failed = box.call("broken", "{}")
    assert failed.error == "runtime" and isinstance(failed.exception, KeyError) and not failed
    assert box.call("add", '{"a": 1').error == "truncated"
    assert box.call("ad", "{}").error == "unknown_tool"
    refused = box.call("add", '{"a": "x"}')
    assert refused.error == "validation" and refused.recommendations and refused.text == refused.verdict.text


def test_repetition_is_told_to_the_model(box):
    reports = [box.call("add", '{"a": 1}').loop for _ in range(3)]
    assert reports[:2] == [None, None] and reports[2].signal == "same_call"
    box.loops.reset()
    result = [box.call("add", '{"a": "x"}') for _ in range(4)][-1]
    assert result.loop and result.text.endswith(result.loop.text)
    assert goodcall.Toolbox([add], loops=False).loops is None


def test_definitions_are_written_for_every_provider(box):
    for provider in ("openai", "responses", "anthropic", "gemini", "mcp"):
        assert "fetch" in str(box.definitions(provider))
    with pytest.raises(goodcall.SettingError, match="expected"):
        box.definitions("nobody")
