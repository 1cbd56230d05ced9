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


def test_wrong_columns_are_named():
    batch = pyarrow.record_batch({"arguments": SENT, "tool_name": [1, 2, 3, 4, 5]})
    with pytest.raises(goodcall.InputError, match="tool_name.*Int64.*expected strings"):
        goodcall.arrow.check(batch, TOOL)
    with pytest.raises(goodcall.InputError, match="no column `raw`: expected one of arguments, tool_name"):
        goodcall.arrow.check(batch, TOOL, raw="raw")
    with pytest.raises(goodcall.InputError, match="expected a record batch"):
        goodcall.arrow.check(pyarrow.array(["a"]), TOOL)


def test_importing_it_does_not_import_pyarrow():
    program = "import goodcall.arrow, sys; assert 'pyarrow' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
