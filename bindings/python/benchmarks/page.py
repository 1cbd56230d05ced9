"""The page that shows what was measured."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

from goodcall import _goodcall
from measure import Time
from traps import REFUSED, RIGHT, WRONG

PACKAGES = ("json-repair", "pydantic", "msgspec", "jsonschema-rs", "baml-py")


def write(results: dict[str, Any]) -> str:
    """Returns the page."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    build = "as it is shipped" if hasattr(_goodcall, "command") else "optimized as it is shipped, without the command in it"
    counted = any(count is not None for _, count in results["valid"].values())
    about_counts = " Instructions are counted by valgrind and are the same on every run." if counted else ""
    parts = [f"""# goodcall in Python, beside others

`.ci/python-bench` installs the wheel beside the others and writes this page; no figure is written by
hand. Measured was a build {build}. CPython {platform.python_version()} on {platform.machine()} with {os.cpu_count()} cores, {versions}.

Programs are measured in turns of ten milliseconds, {results["rounds"]} rounds, in processor time, on a machine that
may have had other work. A ratio is formed within a round: the median of all rounds is shown, and the
quartiles beside it.{about_counts}
"""]
    parts.append(f"""## A valid call

The {results["calls"]} valid calls of [goodcall-core's samples](../crates/goodcall-core/benches/calls.jsonl), as a model
writes them. goodcall returns a verdict with plain values; msgspec and pydantic return objects of types
that are made from the same schemas, without what types do not say (conditions, formats).

{times(results["valid"], "msgspec")}""")
    parts.append(f"""## A broken call

The same calls with a trailing comma, as a Python dictionary, in a fence, with keys without quotes, with
a comment, or encoded twice. goodcall makes {results["right"]["goodcall"]} of {results["calls"]} what was meant, json_repair {results["right"]["json_repair"]}.

{times(results["broken"], "goodcall")}
BAML's language cannot say every tool's types. On the {results["baml"]} broken calls that it reads:

{times(results["baml_times"], "goodcall")}""")
    parts.append(f"""## Right and wrong

Calls that are easily got wrong, [with what is right](../benches/peers/traps.json), given to every program as
it comes out of the box. {RIGHT}: what is right. {REFUSED}: refused, though there is one right reading. {WRONG}: the tool is
run with something else, or run where it must not be.

{trap_table(results["traps"])}""")
    return "\n".join(parts)


def times(rows: dict[str, tuple[Time, int | None]], beside: str) -> str:
    base = next(count for name, (_, count) in rows.items() if name.startswith(beside))
    lines = [["", "ns per call", f"× {beside}", "quartiles"], ["---", *["--:"] * 3]]
    if base is not None:
        lines = [lines[0] + ["instructions", f"× {beside}"], lines[1] + ["--:"] * 2]
    for name, (time, count) in rows.items():
        low, middle, high = time.ratio
        line = [name, f"{time.median:,.0f}", f"{middle:.2f}", f"{low:.2f} to {high:.2f}"]
        if base is not None and count is not None:
            line += [f"{count:,}", f"{count / base:.2f}"]
        lines.append(line)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def trap_table(rows: list[tuple[str, str, dict[str, str]]]) -> str:
    programs = list(rows[0][2])
    lines = ["| | " + " | ".join(programs) + " |", "|---|" + ":-:|" * len(programs)]
    for name, kind, row in rows:
        lines.append(f"| {name} ({kind}) | " + " | ".join(row[one] for one in programs) + " |")
    for words, sign in (("right", RIGHT), ("refused", REFUSED), ("wrong", WRONG)):
        counts = [str(sum(row[one] == sign for _, _, row in rows)) for one in programs]
        lines.append(f"| **{words}** | " + " | ".join(counts) + " |")
    return "\n".join(lines) + "\n"
