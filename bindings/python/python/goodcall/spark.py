"""Verdicts and audits on a cluster of Apache Spark, through ``mapInArrow``.

Each task judges the batches of its partition in the engine, and an audit passes on one row: what it has
counted. A task that is run again, because its executor died, counts once.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator

from ._tools import Policy, Tools
from .audit import Report, merge

#: The columns that :func:`check` adds.
VERDICTS = (
    "verdict string, reason string, rules array<string>, "
    "issues array<struct<path: string, code: string>>, mended string, text string"
)

#: The columns that an audit reads besides those that it is told.
READ = (
    "tool_name tool arguments raw schema tools model server result is_error stop time timestamp "
    "input_tokens output_tokens"
).split()


def _text(tools: Any) -> str:
    """Returns the tools as text, which every executor can read."""
    made = tools if isinstance(tools, Tools) else Tools(tools)
    # MCP's form keeps schemas and annotations as they are.
    return made.definitions_json("mcp")


def check(
    df: Any,
    tools: Any,
    *,
    raw: str = "arguments",
    tool: str = "tool_name",
    policy: Policy | None = None,
) -> Any:
    """Returns the rows of a data frame with a verdict on each: the columns ``verdict``, ``reason``,
    ``rules``, ``issues``, ``mended`` (the valid arguments) and ``text``. ``policy`` is that of the
    executors, whatever the tools were made with."""
    text = _text(tools)
    names = ["verdict", "reason", "rules", "issues", "mended", "text"]
    kept = [field for field in df.schema.fields if field.name not in names]
    schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in kept)

    def judged(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow

        import goodcall.arrow

        made = Tools(text, policy=policy)
        for batch in batches:
            verdicts = goodcall.arrow.check(batch, made, raw=raw, tool=tool)
            columns = [batch.column(field.name) for field in kept] + verdicts.columns
            yield pyarrow.RecordBatch.from_arrays(columns, [field.name for field in kept] + names)

    return df.mapInArrow(judged, f"{schema}, {VERDICTS}" if schema else VERDICTS)


def audit(
    df: Any,
    tools: Any = None,
    *,
    raw: str | None = None,
    tool: str | None = None,
    conversation: str | None = None,
    order: str | None = None,
    policy: Policy | None = None,
    show_arguments: bool = False,
) -> Report:
    """Audits the calls of a data frame, one per row, and returns the report.

    The columns are those of :class:`goodcall.audit.Audit`. ``tools`` may be left out if the rows have
    their own (``schema`` or ``tools``). With ``conversation``, the rows of each one are brought
    together, sorted by ``order``, and looked at for loops.
    """
    text = None if tools is None else _text(tools)
    own = [name for name in (raw, tool, conversation, order) if name]
    read = [name for name in df.columns if name in own or name in READ]
    part = df.select(*[f"`{name}`" for name in read])
    if conversation:
        part = part.repartition(conversation)
        part = part.sortWithinPartitions(*[name for name in (conversation, order) if name])

    def counted(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        from goodcall.audit import Audit

        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        audit = Audit(
            None if text is None else Tools(text, policy=policy),
            raw=raw,
            tool=tool,
            conversation=conversation,
            source=f"partition {number}",
            show_arguments=show_arguments,
        )
        for batch in batches:
            audit.add(batch)
        yield pyarrow.record_batch({"state": pyarrow.array([audit.state()], pyarrow.binary())})

    # One row per task. `toLocalIterator` would run the tasks one after the other.
    states = part.mapInArrow(counted, "state binary").collect()
    return merge((row.state for row in states), policy if isinstance(policy, str) else "safe")
