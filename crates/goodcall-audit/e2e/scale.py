"""Audits many calls, in one process and on Spark: `scale.py PROGRAM FOLDER [ROWS]`.

Prints what was measured, writes it into docs/benchmarks/audit.json for `cargo xtask peers document` if
there were at least ten million calls, and fails if totals differ, memory is above its bound, or a call takes longer
than promised. Needs the wheel, pyarrow and pyspark, and Java for Spark. `GOODCALL_SPARK=0` leaves Spark out.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
#: What was measured, for the page of benchmarks.
FIGURES = HERE.parents[2] / "docs" / "benchmarks" / "audit.json"
#: Fewer calls are a trial, whose figures are not kept.
LEAST_KEPT = 10_000_000
#: Calls that one core audits in a second, at least.
LEAST_RATE = 500_000
#: The most memory for a gigabyte of lines.
MOST_BYTES = 300 << 20


def totals_of(text):
    report = json.loads(text)
    # Where the calls came from differs, what they are does not.
    return {key: value for key, value in report["totals"].items() if key not in ("files", "records")}


def audited(program, path, tools, *more):
    """Audits a file and returns the totals, the processor's seconds and the most memory in bytes."""
    words = [program, "audit", "--json", "--tools", tools, *more, path]
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{words}: exit code {process.returncode}"
    return totals_of(text), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def in_one_process(program, path, tools, rows):
    began = time.monotonic()
    totals, seconds, memory = audited(program, path, tools)
    wall = time.monotonic() - began
    assert totals["calls"] == totals["judged"] == rows, totals
    rate = rows / seconds
    shares = ", ".join(f"{kind} {100 * totals[kind] / rows:.1f} %" for kind in ("good", "mended", "bad"))
    print(f"one process: {rows:,} calls ({shares}), {seconds:.1f} s of processor time, {wall:.1f} s, "
          f"{rate:,.0f} calls a second and core, {memory >> 20} MiB", flush=True)
    return totals, rate, figures(totals, seconds, memory)


def figures(totals, seconds, memory):
    kinds = {kind: totals[kind] for kind in ("calls", "good", "mended", "bad")}
    return {**kinds, "seconds": round(seconds, 2), "bytes": memory}


def killed(program, path, tools, folder):
    """Kills the audit three times while it runs, then lets it end."""
    state = folder / "state.json"
    state.unlink(missing_ok=True)
    more = ["--resume", state, "--save-every", "0"]
    kills = 0
    for _ in range(3):
        words = [program, "audit", "--json", "--tools", tools, *more, path]
        before = state.stat().st_mtime_ns if state.exists() else 0
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
        while process.poll() is None and (not state.exists() or state.stat().st_mtime_ns == before):
            time.sleep(0.01)
        if process.poll() is None:
            process.kill()
            kills += 1
        process.wait()
    totals, _, _ = audited(program, path, tools, *more)
    print(f"killed {kills} times: the totals are compared", flush=True)
    assert kills > 0, "no run lasted until it was killed"
    return totals


def on_spark(path, tools):
    """Audits on two executors, one of which is killed in between."""
    import pyspark
    from pyspark.sql import SparkSession

    import goodcall.spark

    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.log.level", "ERROR")
    builder = builder.config("spark.sql.files.maxPartitionBytes", "512k")
    spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", "50000").getOrCreate()
    context = spark.sparkContext
    lost = []

    def kill_one():
        tracker = context.statusTracker()
        while not lost:
            for stage in tracker.getActiveStageIds():
                about = tracker.getStageInfo(stage)
                if about and about.numCompletedTasks > 1 and about.numActiveTasks > 1:
                    process = executors(context.applicationId)[0]
                    os.kill(process, signal.SIGKILL)
                    lost.append((about.numCompletedTasks, about.numTasks))
                    return
            time.sleep(0.05)

    watching = threading.Thread(target=kill_one, daemon=True)
    watching.start()
    began = time.monotonic()
    report = goodcall.spark.audit(spark.read.parquet(str(path)), json.loads(Path(tools).read_text()))
    wall = time.monotonic() - began
    assert lost, "no executor was killed"
    done, tasks = lost[0]
    print(f"spark: {tasks} tasks on 2 executors, one killed after {done} tasks, {wall:.1f} s", flush=True)
    spark.stop()
    return totals_of(json.dumps(report.data))


def executors(application):
    """The processes of the executors of this application."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in words and application in words:
            found.append(int(entry.name))
    return found


def gigabyte_of_lines(program, folder, tools):
    lines, big = folder / "calls.jsonl", folder / "gigabyte.jsonl"
    subprocess.run([sys.executable, HERE / "generate.py", "200000", lines], check=True)
    text = lines.read_bytes()
    times = (1_000_000_000 + len(text) - 1) // len(text)
    with open(big, "wb") as file:
        for _ in range(times):
            file.write(text)
    totals, seconds, memory = audited(program, big, tools)
    size = big.stat().st_size
    big.unlink()
    assert totals["calls"] == totals["judged"] == times * 200_000, totals
    print(f"{size:,} bytes of lines: {totals['calls']:,} calls, {seconds:.1f} s of processor time, "
          f"{totals['calls'] / seconds:,.0f} calls a second and core, {memory >> 20} MiB", flush=True)
    assert memory <= MOST_BYTES, f"{memory} bytes of memory"
    return figures(totals, seconds, memory)


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    rows = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000_000
    tools, path = folder / "tools.json", folder / "calls.parquet"
    tools.write_bytes(subprocess.check_output([sys.executable, HERE / "generate.py", "--tools"]))
    subprocess.run([sys.executable, HERE / "generate.py", str(rows), path], check=True)
    print(f"{path.stat().st_size:,} bytes of Parquet", flush=True)
    whole, rate, tables = in_one_process(program, path, tools, rows)
    assert killed(program, path, tools, folder) == whole, "the totals after kills differ"
    # Before Spark: a process is charged with the memory of the one that starts it, too.
    lines = gigabyte_of_lines(program, folder, tools)
    if os.environ.get("GOODCALL_SPARK") != "0":
        spark = on_spark(path, tools)
        assert spark == whole, f"the totals on Spark differ: {spark} and {whole}"
    assert rate >= LEAST_RATE, f"{rate:,.0f} calls a second and core"
    if rows >= LEAST_KEPT:
        FIGURES.write_text(json.dumps({"Parquet": tables, "a gigabyte of JSON lines": lines}, indent=2) + "\n")
    print("ok: all totals are equal")


if __name__ == "__main__":
    main()
