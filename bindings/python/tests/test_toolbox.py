"""Functions that a model calls."""

import asyncio
import dataclasses
import datetime

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


def test_arguments_that_a_type_itself_does_not_take_are_a_validation_error():
    @dataclasses.dataclass
    class Range:
        low: int
        high: int

        def __post_init__(self):
            if self.low > self.high:
                raise ValueError("low must be at most high")

    @goodcall.tool
    def on(day: datetime.date) -> str:
        return str(day)

    @goodcall.tool
    def within(numbers: Range) -> str:
        return str(numbers)

    box = goodcall.Toolbox([on, within])
    late = box.call("on", '{"day": "2026-02-30"}')
    assert late.error == "validation" and late.text.startswith("'2026-02-30' is not a date")
    for result in (box.call("within", '{"numbers": {"low": 2, "high": 1}}'),
                   asyncio.run(box.acall("within", '{"numbers": {"low": 2, "high": 1}}'))):
        assert (result.error, result.text) == ("validation", "ValueError: low must be at most high")
    assert box.call("within", '{"numbers": {"low": 1, "high": 2}}').ok


def test_a_call_ends_in_a_result_whatever_the_function_returns():
    circular = []
    circular.append(circular)
    values = {"circular": circular, "odd_keys": {(1, 2): 3}, "nothing": None, "raw": b"\xff", "half": "\ud800"}

    @goodcall.tool
    def give(name: str) -> object:
        return values[name]

    box = goodcall.Toolbox([give])
    results = {name: box.call("give", {"name": name}) for name in values}
    assert all(result.ok for result in results.values())
    assert results["circular"].text == "[[...]]" and results["odd_keys"].text == "{(1, 2): 3}"
    assert results["nothing"].text == "null" and results["half"].text == "\ud800"


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
