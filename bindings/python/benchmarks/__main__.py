"""goodcall beside other packages for Python, on the same calls.

    python bindings/python/benchmarks [--write] [--rounds N] [--no-instructions]

``--write`` puts what was measured into docs/python-benchmarks.md. The packages beside it are in
requirements.txt; `.ci/python-bench` installs them and runs this.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, Callable

os.environ.setdefault("BAML_LOG", "off")

import goodcall
import json_repair
import page
import programs
import traps
from calls import ROOT, Sample, broken, definitions, valid
from measure import in_turns, instructions

SETS: dict[str, tuple[dict[str, Any], Callable[[], list[Sample]]]] = {
    "valid": (programs.VALID, valid),
    "broken": (programs.BROKEN, broken),
    "baml": (programs.READ_BY_BAML, lambda: programs.baml_can_say(broken())),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write docs/python-benchmarks.md")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--no-instructions", action="store_true", help="do not run valgrind")
    commands = parser.add_subparsers(dest="command")
    run = commands.add_parser("run", help="run one program some times, for a profiler")
    run.add_argument("kind", choices=list(SETS))
    run.add_argument("program")
    run.add_argument("times", type=int)
    given = parser.parse_args()
    if given.command == "run":
        makes, calls = SETS[given.kind]
        made = makes[given.program](calls())
        for _ in range(given.times):
            made()
        return
    text = page.write(measured(given.rounds, not given.no_instructions))
    print(text)
    if given.write:
        (ROOT / "docs" / "python-benchmarks.md").write_text(text, encoding="utf-8")


def measured(rounds: int, counted: bool) -> dict[str, Any]:
    """Measures everything. What goodcall makes of each call is checked first."""
    tools = goodcall.Tools(definitions())
    for one in valid():
        verdict = tools.check(one.tool, one.raw)
        assert (verdict.kind, verdict.arguments) == ("good", one.meant), one.raw
    right = {
        "goodcall": sum(tools.check(one.tool, one.raw).arguments == one.meant for one in broken()),
        "json_repair": sum(json_repair.loads(one.raw) == one.meant for one in broken()),
    }
    return {
        "rounds": rounds,
        "calls": len(valid()),
        "right": right,
        "valid": compared("valid", programs.MSGSPEC, rounds, counted),
        "broken": compared("broken", programs.GOODCALL, rounds, counted),
        "baml": len(SETS["baml"][1]()),
        "baml_times": compared("baml", programs.GOODCALL, max(4, rounds // 4), counted=False),
        "traps": traps.marks(),
    }


def compared(kind: str, beside: str, rounds: int, counted: bool) -> dict[str, Any]:
    makes, calls = SETS[kind]
    samples = calls()
    runs = {name: make(samples) for name, make in makes.items()}
    times = in_turns(runs, len(samples), beside, rounds)
    return {name: (time, instructions(kind, name, len(samples)) if counted else None)
            for name, time in times.items()}


if __name__ == "__main__":
    main()
