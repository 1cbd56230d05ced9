"""Calls that are easily got wrong, and what each program makes of them."""

from __future__ import annotations

import json
from typing import Any, Callable

import goodcall
import jsonschema_rs
from calls import TRAPS, peers

#: Returns the arguments that a tool is run with; raises if the call is refused.
Judge = Callable[[dict[str, Any], str], Any]

RIGHT, REFUSED, WRONG = "✓", "–", "✗"


def by_goodcall(schema: dict[str, Any], raw: str) -> Any:
    verdict = goodcall.Tools({"name": "trap", "parameters": schema}).check("trap", raw)
    if not verdict:
        raise ValueError(verdict.text)
    return verdict.arguments


def by_jsonschema(schema: dict[str, Any], raw: str) -> Any:
    value = json.loads(raw)
    jsonschema_rs.validator_for(schema).validate(value)
    return value


def judges() -> dict[str, Judge]:
    """Returns every program by its name."""
    def peer(kind: Any) -> Judge:
        def judge(schema: dict[str, Any], raw: str) -> Any:
            read, show = kind(schema).judge()
            return json.loads(show(read(raw)))
        return judge

    others = {name: peer(kind) for name, _, kind in peers().judges()}
    return {"goodcall": by_goodcall, **others, "json.loads + jsonschema-rs": by_jsonschema}


def marks() -> list[tuple[str, str, dict[str, str]]]:
    """Returns each trap with its kind, and the mark of every program."""
    rows = []
    for trap in json.loads(TRAPS.read_text(encoding="utf-8")):
        row = {name: mark(trap, judge) for name, judge in judges().items()}
        rows.append((trap["name"], trap["kind"], row))
    return rows


def mark(trap: dict[str, Any], judge: Judge) -> str:
    try:
        made = judge(trap["schema"], trap["raw"])
    except Exception:  # each program has its own, and all of them mean a refusal
        return RIGHT if trap["right"] is None else REFUSED
    return RIGHT if trap["right"] is not None and same(made, trap["right"]) else WRONG


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal, and of equal types."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
