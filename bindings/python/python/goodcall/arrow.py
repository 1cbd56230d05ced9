"""Verdicts on columns of calls, through Arrow's PyCapsule interface.

The function takes record batches and tables of every library that has the interface: pyarrow, Polars,
DuckDB, DataFusion, Spark's ``mapInArrow``, Ray. pyarrow is used only if it is loaded already.
"""

from __future__ import annotations

import sys
from typing import Any

from ._goodcall import VerdictBatch, check_arrow
from ._tools import Tools


def check(
    data: Any,
    tools: Tools | Any,
    *,
    raw: str = "arguments",
    tool: str = "tool_name",
    name: str | None = None,
    stop: str | None = None,
) -> Any:
    """Judges the calls of a record batch or a table, one per row.

    ``raw`` is the column with the arguments as sent, ``tool`` the one with the names of the tools;
    ``name`` says instead that all rows call one tool. ``tools`` are ``Tools``, or what they are made
    from; pass ``Tools`` to compile schemas once for many batches.

    Returns as many rows with the columns ``verdict``, ``reason``, ``rules``, ``issues`` (``path`` and
    ``code``), ``arguments`` (JSON text, that of a good call as sent) and ``text``: a
    ``pyarrow.RecordBatch`` for a batch and a ``pyarrow.Table`` for a table if pyarrow is loaded, else an
    object that every library for Arrow reads (``polars.DataFrame(…)``).
    """
    made = tools if isinstance(tools, Tools) else Tools(tools)
    result = check_arrow(made, data, raw, tool, name, stop)
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None:
        return result
    return pyarrow.record_batch(result) if isinstance(result, VerdictBatch) else pyarrow.table(result)
