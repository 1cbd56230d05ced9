"""JSON text of the values that users hand in."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from ._errors import InputError


def plain(value: Any) -> Any:
    """Returns the JSON values of an object that is not one itself: a model, a dataclass, a mapping."""
    if isinstance(value, type):
        raise TypeError(f"the class {value.__name__} is not a value")
    made: Any = value
    for method in ("model_dump", "to_dict", "dict"):
        dump = getattr(value, method, None)
        if callable(dump):
            return dump(mode="json") if method == "model_dump" else dump()
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(made)
    if hasattr(made, "keys"):
        return {key: made[key] for key in made.keys()}
    if hasattr(made, "__struct_fields__"):
        return {name: getattr(made, name) for name in made.__struct_fields__}
    if hasattr(made, "__iter__"):
        return list(made)
    return str(made)


def dumps(value: Any) -> str:
    """Writes a value as JSON text."""
    try:
        return json.dumps(value, ensure_ascii=False, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"this is not a JSON value: {error}") from error
