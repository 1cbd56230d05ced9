"""The recipes of docs/python.md on the engines themselves: every engine gives the same verdicts."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import goodcall
import goodcall.arrow
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from goodcall.audit import Audit, merge

TOOL = {"name": "read", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["path"]}}
SENT = ['{"path": "a"}', '{"path": "a", "limit": "5"}', '{"limit": 5}', '{"path": "a', "{}"]
VERDICTS = {"good": 400, "mended": 400, "bad": 1200}
tools = goodcall.Tools(TOOL)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    table = pa.table({"tool_name": ["read"] * 2000, "arguments": SENT * 400, "model": ["m", "n"] * 1000})
    path = str(tmp_path_factory.mktemp("engines") / "calls.parquet")
    pq.write_table(table, path, row_group_size=500)
    return path


@pytest.fixture(scope="module")
def whole(path):
    totals = Audit(tools).add(pq.read_table(path)).report().totals
    assert {kind: totals[kind] for kind in VERDICTS} == VERDICTS
    return totals


def counted(verdicts):
    return {kind: list(verdicts).count(kind) for kind in VERDICTS}


def test_duckdb_audits_and_judges_in_queries(path, whole):
    duckdb = pytest.importorskip("duckdb")
    con = duckdb.connect()
    audit = Audit(tools)
    for batch in con.sql(f"from '{path}'").to_arrow_reader(1000):
        audit.add(batch)
    assert audit.report().totals == whole

    def verdict(name, raw):
        batches = pa.table({"tool_name": name, "arguments": raw}).combine_chunks().to_batches()
        return pa.concat_arrays([goodcall.arrow.check(batch, tools).column("verdict") for batch in batches])

    con.create_function("verdict", verdict, ["VARCHAR", "VARCHAR"], "VARCHAR", type="arrow")
    rows = con.sql(f"select verdict(tool_name, arguments) as verdict, count(*) from '{path}' group by 1").fetchall()
    assert dict(rows) == VERDICTS


def test_polars_audits_and_judges(path, whole):
    pl = pytest.importorskip("polars")
    df = pl.read_parquet(path)
    assert Audit(tools).add(df.to_arrow()).report().totals == whole
    verdicts = pl.concat(pl.from_arrow(goodcall.arrow.check(b, tools)) for b in df.to_arrow().to_batches())
    assert counted(df.hstack(verdicts.select("verdict"))["verdict"]) == VERDICTS


def test_daft_audits(path, whole):
    daft = pytest.importorskip("daft")
    audit = Audit(tools)
    for batch in daft.read_parquet(path).to_arrow_iter():
        audit.add(batch)
    assert audit.report().totals == whole


#: The recipe for Ray, as a program: it says when Ray has started, then the totals.
RAY = """
import json, sys
import pyarrow as pa
import ray
from goodcall.audit import Audit, merge

definitions = json.loads(sys.argv[2])
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
print("started", flush=True)
states = ray.data.read_parquet(sys.argv[1]).map_batches(
    lambda table: pa.table({"state": [Audit(definitions).add(table).state()]}), batch_format="pyarrow")
print(json.dumps(merge(row["state"] for row in states.take_all()).totals))
"""


def test_ray_audits_on_its_workers(path, whole):
    pytest.importorskip("ray")
    # Ray listens on every address: in a network of its own there is only loopback.
    alone = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    words = [*alone, sys.executable, "-c", RAY, path, json.dumps(TOOL)]
    # Its token comes from here, so that none is written to the home of whoever runs this.
    settings = os.environ | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        run = subprocess.run(words, env=settings, capture_output=True, text=True, timeout=600)
        said, errors = run.stdout, run.stderr
    except OSError as error:
        said, errors = "", str(error)
    except subprocess.TimeoutExpired as error:
        # Where Ray cannot start, it waits for itself.
        said, errors = (error.stdout or b"").decode(), "no answer in ten minutes"
    if "started" not in said:
        pytest.skip(f"Ray does not start here: {errors[-300:]}")
    assert json.loads(said.splitlines()[-1]) == whole, errors


def test_spark_audits_and_judges_on_its_executors(path, whole):
    pyspark = pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    import goodcall.spark

    try:
        df = spark.read.parquet(path).repartition(4)
        report = goodcall.spark.audit(df, tools)
        assert report.totals == whole
        assert json.loads(json.dumps(report.data))["failures"]
        rows = goodcall.spark.check(df, tools).groupBy("verdict").count().collect()
        assert {row["verdict"]: row["count"] for row in rows} == VERDICTS
    finally:
        spark.stop()
