"""What the adapters share: one compiled schema per tool, whatever object describes it."""

from __future__ import annotations

import copy
from typing import Any, Mapping

from ._goodcall import Verdict
from ._tools import Policy, Tools


class Checker:
    """Checks calls of tools that come one by one, each with its schema."""

    def __init__(self, policy: Policy | None = None, style: str | None = None) -> None:
        self._settings: dict[str, Any] = {"policy": policy, "style": style}
        self._tools: dict[str, tuple[Any, Tools]] = {}

    def check(self, name: str, schema: Any, arguments: Any, *, destructive: bool = False) -> Verdict:
        """Judges a call of a tool with this schema."""
        definition: dict[str, Any] = {"name": name, "parameters": schema or {"type": "object"}}
        if destructive:
            definition["annotations"] = {"destructiveHint": True}
        return self.tools(name, definition).check(name, arguments)

    def tools(self, name: str, definitions: Mapping[str, Any] | list[Any]) -> Tools:
        """Returns the tools of these definitions, compiled when they are first seen or have changed."""
        known = self._tools.get(name)
        if known is None or known[0] != definitions:
            # A copy, because a framework may change its schema in place.
            known = copy.deepcopy(definitions), Tools(definitions, **self._settings)
            self._tools[name] = known
        return known[1]
