"""Audits of columns of calls."""

import json

import goodcall
import pytest

pyarrow = pytest.importorskip("pyarrow")

from goodcall.audit import Audit, merge  # noqa: E402

TOOL = {"name": "read", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["path"]}}
SENT = ['{"path": "a"}', '{"path": "a", "limit": "5"}', '{"limit": 5}', '{"path": "a', "{}"]


def batch(count=1):
    return pyarrow.record_batch({
        "tool_name": ["read", "read", "read", "read", "raed"] * count,
        "arguments": SENT * count,
        "model": ["m", "m", "n", "n", "n"] * count,
    })


def test_counts_add_up_in_any_order():
    whole = Audit(TOOL).add(batch(3)).report()
    assert whole.totals["calls"] == 15
    assert (whole.totals["good"], whole.totals["mended"], whole.totals["bad"]) == (3, 3, 9)
    parts = [Audit(TOOL).add(batch()).state() for _ in range(3)]
    for order in (parts, parts[::-1]):
        assert merge(order).totals == whole.totals
    kinds = {(one["tool"], one["field"], one["code"]): one["calls"] for one in whole.failures}
    assert kinds[("read", "path", "missing")] == 3 and kinds[("raed", "", "unknown_tool")] == 3


def test_tables_and_several_batches_are_one_audit():
    table = pyarrow.Table.from_batches([batch(), batch()])
    assert Audit(goodcall.Tools(TOOL)).add(table).add(batch()).report().totals["calls"] == 15


def test_rows_may_have_their_own_schema():
    schema = json.dumps(TOOL["parameters"])
    rows = pyarrow.record_batch({"sent": SENT[:2], "schema": [schema, schema]})
    report = Audit(raw="sent").add(rows).report()
    assert (report.totals["good"], report.totals["mended"]) == (1, 1)


def test_values_are_hidden_unless_asked_for():
    rows = pyarrow.record_batch({"tool_name": ["read"], "arguments": ['{"path": 5, "limit": "sesame"}']})
    assert "sesame" not in json.dumps(Audit(TOOL).add(rows).report().data)
    assert "sesame" in json.dumps(Audit(TOOL, show_arguments=True).add(rows).report().data)


def test_report_has_every_form():
    report = Audit(TOOL).add(batch()).report()
    assert report.to_html().startswith("<!doctype html>")
    assert report.to_csv().splitlines()[0].startswith("tool,outcome,code")
    assert "5 calls" in str(report)


def test_wrong_input_is_named():
    with pytest.raises(goodcall.InputError, match="there is no column `arguments`"):
        Audit(TOOL).add(pyarrow.record_batch({"a": [1]}))
    with pytest.raises(goodcall.InputError, match="not the state of an audit"):
        merge([b"nonsense"])
