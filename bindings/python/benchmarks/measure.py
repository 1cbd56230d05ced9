"""Time on a busy machine, and instructions, which are the same on every run."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable

#: How long one turn of a program lasts, in nanoseconds.
TURN = 10_000_000


@dataclass(frozen=True)
class Time:
    """What a program took, in nanoseconds of processor time per call, and beside another."""

    median: float
    best: float
    #: The quartiles of the ratio to the program that is compared with, turn by turn.
    ratio: tuple[float, float, float]


def in_turns(runs: dict[str, Callable[[], None]], calls: int, beside: str, rounds: int) -> dict[str, Time]:
    """Measures programs in turns, so that what else the machine does hits all of them alike.

    A ratio is formed within a round; the median over all rounds is what counts."""
    repeats = {name: max(1, round(TURN / max(1, once(run)))) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds):
        names = list(runs)
        names = names[turn % len(names):] + names[:turn % len(names)]
        for name in names:
            run, count = runs[name], repeats[name]
            began = time.thread_time_ns()
            for _ in range(count):
                run()
            times[name].append((time.thread_time_ns() - began) / count / calls)
    measured = {}
    for name, own in times.items():
        ratios = [one / other for one, other in zip(own, times[beside])]
        low, middle, high = statistics.quantiles(ratios, n=4)
        measured[name] = Time(statistics.median(own), min(own), (low, middle, high))
    return measured


def once(run: Callable[[], None]) -> int:
    """How long one run takes when everything is warm."""
    for _ in range(2):
        run()
    began = time.thread_time_ns()
    run()
    return time.thread_time_ns() - began


def instructions(kind: str, program: str, calls: int) -> int | None:
    """Counts the instructions of one call under valgrind; ``None`` where that is not installed.

    The interpreter's start is taken away by running a few rounds, and then more."""
    if shutil.which("valgrind") is None:
        return None
    few, many = 10, 60
    counted = [_collected(kind, program, rounds) for rounds in (few, many)]
    return round((counted[1] - counted[0]) / (many - few) / calls)


def _collected(kind: str, program: str, rounds: int) -> int:
    here = pathlib.Path(__file__).parent
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out", sys.executable, str(here),
             "run", kind, program, str(rounds)],
            capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0", "BAML_LOG": "off"})
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise RuntimeError(f"valgrind on {program}: {done.stderr[-2000:]}")
    return int(found[1])
