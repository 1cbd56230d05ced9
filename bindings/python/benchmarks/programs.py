"""goodcall and what one would pick instead of it, each as a function of one call."""

from __future__ import annotations

import json
from typing import Any, Callable

import goodcall
import json_repair
import jsonschema_rs
import msgspec
import pydantic
from calls import Sample, definitions, peers

#: Reads all calls once.
Run = Callable[[], None]

GOODCALL = "goodcall, `check(name, raw).arguments`"
MSGSPEC = "msgspec, `decode` into a Struct"
PYDANTIC = "pydantic, `validate_json` into a model"
BAML = "BAML, `parse_llm_response` into a model"
JSON_REPAIR = "json_repair, `loads`, not validated"


def goodcall_arguments(calls: list[Sample]) -> Run:
    check = goodcall.Tools(definitions()).check
    pairs = [(one.tool, one.raw) for one in calls]

    def run() -> None:
        for name, raw in pairs:
            check(name, raw).arguments

    return run


def goodcall_verdict(calls: list[Sample]) -> Run:
    check = goodcall.Tools(definitions()).check
    pairs = [(one.tool, one.raw) for one in calls]

    def run() -> None:
        for name, raw in pairs:
            check(name, raw).kind

    return run


def applied(calls: list[Sample], judge: Callable[[dict[str, Any]], Callable[[str], Any]]) -> Run:
    """Reads each call with the function that was made for its schema."""
    made = {one.tool: judge(one.schema) for one in calls}
    pairs = [(made[one.tool], one.raw) for one in calls]

    def run() -> None:
        for read, raw in pairs:
            read(raw)

    return run


def msgspec_struct(calls: list[Sample]) -> Run:
    types = peers()
    return applied(calls, lambda schema: msgspec.json.Decoder(types.Msgspec(schema).of(schema)).decode)


def msgspec_dict(calls: list[Sample]) -> Run:
    return applied(calls, lambda schema: msgspec.json.Decoder().decode)


def pydantic_model(calls: list[Sample]) -> Run:
    types = peers()
    return applied(calls, lambda schema: pydantic.TypeAdapter(types.Pydantic(schema).of(schema)).validate_json)


def loads_and_jsonschema(calls: list[Sample]) -> Run:
    def judge(schema: dict[str, Any]) -> Callable[[str], Any]:
        validate = jsonschema_rs.validator_for(schema).validate

        def read(raw: str) -> Any:
            value = json.loads(raw)
            validate(value)
            return value

        return read

    return applied(calls, judge)


def loads(calls: list[Sample]) -> Run:
    return applied(calls, lambda schema: json.loads)


def repaired(calls: list[Sample]) -> Run:
    return applied(calls, lambda schema: json_repair.loads)


def baml(calls: list[Sample]) -> Run:
    types = peers()
    return applied(calls, lambda schema: types.Baml(schema).judge()[0])


def baml_can_say(calls: list[Sample]) -> list[Sample]:
    """Returns the calls of tools whose types BAML's language has, and which its parser accepts."""
    types = peers()

    def is_read(one: Sample) -> bool:
        try:
            types.Baml(one.schema).judge()[0](one.raw)
        except Exception:
            return False
        return True

    return [one for one in calls if is_read(one)]


VALID: dict[str, Callable[[list[Sample]], Run]] = {
    GOODCALL: goodcall_arguments,
    "goodcall, `check(name, raw).kind`": goodcall_verdict,
    MSGSPEC: msgspec_struct,
    "msgspec, `decode` into a dict, not validated": msgspec_dict,
    PYDANTIC: pydantic_model,
    "json.loads + jsonschema-rs, `validate`": loads_and_jsonschema,
    "json.loads, not validated": loads,
}

BROKEN: dict[str, Callable[[list[Sample]], Run]] = {
    GOODCALL: goodcall_arguments,
    JSON_REPAIR: repaired,
}

#: On the broken calls that BAML can read.
READ_BY_BAML: dict[str, Callable[[list[Sample]], Run]] = {
    GOODCALL: goodcall_arguments,
    BAML: baml,
}
