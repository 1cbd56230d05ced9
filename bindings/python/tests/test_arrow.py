"""Verdicts on columns of calls."""

import subprocess
import sys

import goodcall
import pytest

pyarrow = pytest.importorskip("pyarrow")

import goodcall.arrow  # noqa: E402

TOOL = {"name": "read", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["path"]}}
SENT = ['{"path": "a"}', '{"path": "a", "limit": "5",}', "{}", '{"path": "a', None]


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()], ids=str)
def test_every_row_gets_a_verdict(kind):
    names = pyarrow.array(["read"] * 4 + ["raed"], kind)
    batch = pyarrow.record_batch({"tool_name": names, "arguments": pyarrow.array(SENT, kind)})
    judged = goodcall.arrow.check(batch, goodcall.Tools(TOOL))
    assert isinstance(judged, pyarrow.RecordBatch)
    assert judged.schema.names == ["verdict", "reason", "rules", "issues", "arguments", "text"]
    rows = judged.to_pylist()
    assert [row["verdict"] for row in rows] == ["good", "mended", "bad", "bad", "bad"]
    assert [row["reason"] for row in rows] == [None, None, "wrong_shape", "truncated", "unknown_tool"]
    assert rows[1]["arguments"] == '{"path":"a","limit":5}' and "string-to-number" in rows[1]["rules"]
    assert rows[2]["issues"] == [{"path": "/path", "code": "missing"}] and "path" in rows[2]["text"]
    judged.validate(full=True)


def test_one_tool_and_other_columns_may_be_named():
    batch = pyarrow.record_batch({"sent": SENT[:2]})
    judged = goodcall.arrow.check(batch, TOOL, raw="sent", name="read")
    assert judged.column("verdict").to_pylist() == ["good", "mended"]
    sliced = goodcall.arrow.check(batch.slice(1), TOOL, raw="sent", name="read")
    assert sliced.column("verdict").to_pylist() == ["mended"]


def test_names_may_be_a_dictionary():
    names = pyarrow.array(["read", None, "read"]).dictionary_encode()
    batch = pyarrow.record_batch({"tool_name": names, "arguments": [SENT[0], SENT[0], None]})
    judged = goodcall.arrow.check(batch, TOOL)
    assert judged.column("reason").to_pylist() == [None, "unknown_tool", "empty"]
    nothing = pyarrow.record_batch({"tool_name": names.slice(0, 0), "arguments": pyarrow.array([], pyarrow.string())})
    assert goodcall.arrow.check(nothing, TOOL).num_rows == 0


def test_good_arguments_are_the_text_as_sent():
    batch = pyarrow.record_batch({"tool_name": ["read"], "arguments": [' {"path":  "a"}']})
    assert goodcall.arrow.check(batch, TOOL).column("arguments").to_pylist() == [' {"path":  "a"}']


def test_a_table_gets_a_table():
    batch = pyarrow.record_batch({"tool_name": ["read"] * 5, "arguments": SENT})
    table = pyarrow.Table.from_batches([batch, batch.slice(0, 2), batch.slice(0, 0)])
    judged = goodcall.arrow.check(table, goodcall.Tools(TOOL))
    assert isinstance(judged, pyarrow.Table) and judged.num_rows == 7
    assert judged.column("verdict").to_pylist()[5:] == ["good", "mended"]
    reader = pyarrow.RecordBatchReader.from_batches(batch.schema, iter([batch, batch]))
    assert goodcall.arrow.check(reader, TOOL).num_rows == 10
    with pytest.raises(goodcall.InputError, match="no column `x`: expected one of tool_name, arguments"):
        goodcall.arrow.check(table, TOOL, raw="x")


def test_a_producer_that_fails_is_an_error():
    batch = pyarrow.record_batch({"tool_name": ["read"], "arguments": [SENT[0]]})

    def broken():
        yield batch
        raise OSError("the disk is gone")

    reader = pyarrow.RecordBatchReader.from_batches(batch.schema, broken())
    with pytest.raises(goodcall.InputError, match="the disk is gone"):
        goodcall.arrow.check(reader, TOOL)


def test_without_pyarrow_others_read_the_result():
    program = (
        "import sys, goodcall, goodcall.arrow\n"
        "sys.modules['pyarrow'] = None\n"
        "import polars\n"
        f"tools = goodcall.Tools({TOOL!r})\n"
        f"frame = polars.DataFrame({{'tool_name': ['read'] * 2, 'arguments': {SENT[:2]!r}}})\n"
        "del sys.modules['pyarrow']\n"
        "judged = goodcall.arrow.check(frame, tools)\n"
        "assert repr(judged) == '<VerdictTable of 2 rows>' and len(judged) == 2\n"
        "assert polars.DataFrame(judged)['verdict'].to_list() == ['good', 'mended']\n"
        "assert 'pyarrow' not in sys.modules\n"
    )
    pytest.importorskip("polars")
    subprocess.run([sys.executable, "-c", program], check=True)


def test_wrong_columns_are_named():
    batch = pyarrow.record_batch({"arguments": SENT, "tool_name": [1, 2, 3, 4, 5]})
    with pytest.raises(goodcall.InputError, match="tool_name.*Int64.*expected strings"):
        goodcall.arrow.check(batch, TOOL)
    with pytest.raises(goodcall.InputError, match="no column `raw`: expected one of arguments, tool_name"):
        goodcall.arrow.check(batch, TOOL, raw="raw")
    with pytest.raises(goodcall.InputError, match="expected a record batch"):
        goodcall.arrow.check(pyarrow.array(["a"]), TOOL)
    with pytest.raises(goodcall.InputError, match="a `list` is not Arrow data: expected a record batch"):
        goodcall.arrow.check([1], TOOL)


def test_importing_it_does_not_import_pyarrow():
    program = "import goodcall.arrow, sys; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
