"""Verdicts on columns of calls, through Arrow's PyCapsule interface.

The function takes anything that has ``__arrow_c_array__``: a ``pyarrow.RecordBatch``, a batch of
DataFusion, DuckDB, Polars (``df.to_arrow().to_batches()``), Spark's ``mapInArrow`` or Ray. pyarrow is
imported only if it is there already.
"""

from __future__ import annotations

import sys
from typing import Any

from ._goodcall import check_batch
from ._tools import Tools


def check(
    batch: Any,
    tools: Tools | Any,
    *,
    raw: str = "arguments",
    tool: str = "tool_name",
    name: str | None = None,
    stop: str | None = None,
) -> Any:
    """Judges the calls of a record batch, one per row.

    ``raw`` is the column with the arguments as sent, ``tool`` the one with the names of the tools;
    ``name`` says instead that all rows call one tool. ``tools`` are ``Tools``, or what they are made
    from; pass ``Tools`` to compile schemas once for many batches.

    Returns a batch of the same length with the columns ``verdict``, ``reason``, ``rules``, ``issues``
    (``path`` and ``code``), ``arguments`` (JSON text) and ``text``: a ``pyarrow.RecordBatch`` if pyarrow
    is loaded, else an object that every library for Arrow reads.
    """
    made = tools if isinstance(tools, Tools) else Tools(tools)
    result = check_batch(made, batch, raw, tool, name, stop)
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow.record_batch(result) if pyarrow is not None else result
