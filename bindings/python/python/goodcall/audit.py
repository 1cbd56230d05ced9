"""Audits of recorded calls in columns: which tool, field and model breaks, and how often.

An :class:`Audit` counts batches of anything that has ``__arrow_c_array__``. What several of them have
counted adds up (:func:`merge`), in any order: over threads, partitions and machines. ``goodcall audit``
on the command line does the same for files of many formats.
"""

from __future__ import annotations

import json
from typing import Any, Iterable

from . import _goodcall
from ._tools import Tools


class Report:
    """What an audit says. ``data`` is the report in the form of ``goodcall audit --json``."""

    def __init__(self, state: bytes, policy: str = "safe") -> None:
        self.state = state
        self.policy = policy
        self.data: dict[str, Any] = json.loads(_goodcall.audit_report(state, policy, "json"))

    @property
    def totals(self) -> dict[str, int]:
        """The counts of everything together."""
        return dict(self.data["totals"])

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The kinds of failure, the most frequent first."""
        return list(self.data["failures"])

    def to_html(self) -> str:
        """Returns one page that needs nothing else."""
        return _goodcall.audit_report(self.state, self.policy, "html")

    def to_csv(self) -> str:
        """Returns the kinds of failure as CSV."""
        return _goodcall.audit_report(self.state, self.policy, "csv")

    def __str__(self) -> str:
        return _goodcall.audit_report(self.state, self.policy, "summary")


class Audit:
    """Judges and counts the calls of record batches, one call per row.

    ``tools`` are ``Tools``, or what they are made from; none are needed if the rows have their own.
    ``raw`` is the column with the arguments as sent (``arguments`` or ``raw`` by default), ``tool`` the
    one with the names (``tool_name`` or ``tool``). The columns ``model``, ``server``, ``schema``,
    ``tools``, ``result``, ``is_error``, ``stop``, ``time``, ``input_tokens`` and ``output_tokens`` are
    used if they are there. Rows of one ``conversation`` show their loops if they come in order.
    """

    def __init__(
        self,
        tools: Tools | Any | None = None,
        *,
        raw: str | None = None,
        tool: str | None = None,
        conversation: str | None = None,
        source: str = "batch",
        show_arguments: bool = False,
    ) -> None:
        made = tools if tools is None or isinstance(tools, Tools) else Tools(tools)
        self._audit = _goodcall.Audit(made, raw, tool, conversation, source, show_arguments)

    def add(self, batch: Any) -> Audit:
        """Counts the calls of a batch, or of each batch of a table."""
        batches = batch.to_batches() if hasattr(batch, "to_batches") else [batch]
        for one in batches:
            self._audit.add(one)
        return self

    def state(self) -> bytes:
        """Returns what was counted, to be added up elsewhere."""
        return self._audit.state()

    def report(self, policy: str = "safe") -> Report:
        """Returns the report on what was counted."""
        return Report(self.state(), policy)


def merge(states: Iterable[bytes], policy: str = "safe") -> Report:
    """Returns the report on what several audits have counted."""
    return Report(_goodcall.merge_audits([bytes(state) for state in states]), policy)
