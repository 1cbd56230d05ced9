"""Arguments as instances of Python types."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from typing import Any, Callable, get_args, get_origin

from . import _schema
from ._errors import BadCall, InputError

if typing.TYPE_CHECKING:
    from ._goodcall import Verdict


def model(verdict: Verdict, kind: Any) -> Any:
    """Returns the arguments of a verdict as an instance of ``kind``. A bad call raises ``BadCall``, and
    arguments that the type itself does not take raise ``InputError``."""
    if not verdict.ok:
        raise BadCall(verdict)
    try:
        if _schema.is_pydantic(kind):
            # Read as JSON: strings become dates, lists become sets.
            return kind.model_validate_json(verdict.json)
        return convert(verdict.arguments, kind)
    except InputError:
        raise
    except Exception as error:
        # A check of the type itself, which its schema does not state.
        name = getattr(kind, "__name__", kind)
        raise InputError(f"the arguments are not those of a `{name}`: {error}") from error


_READERS: dict[Any, Callable[[Any], Any]] = {
    float: float,
    int: int,
    decimal.Decimal: lambda value: decimal.Decimal(str(value)),
    bytes: lambda value: value.encode() if isinstance(value, str) else value,
    uuid.UUID: uuid.UUID,
    datetime.datetime: lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")),
    datetime.date: datetime.date.fromisoformat,
    datetime.time: datetime.time.fromisoformat,
    pathlib.Path: pathlib.Path,
    pathlib.PurePath: pathlib.PurePath,
    set: set,
    frozenset: frozenset,
    tuple: tuple,
}


def convert(value: Any, hint: Any) -> Any:
    """Turns plain values, which match the schema of a type, into an instance of it."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is typing.Annotated:
        return convert(value, args[0])
    if origin in (typing.Union, types.UnionType):
        return _convert_union(value, args)
    if origin in (list, set, frozenset, tuple) and isinstance(value, list):
        return _convert_items(value, origin, args)
    if origin is dict and isinstance(value, dict):
        return {key: convert(item, args[1]) for key, item in value.items()}
    kind = origin or hint
    if isinstance(value, bool) or not isinstance(kind, type):
        return value
    if _schema.is_pydantic(kind):
        return kind.model_validate(value)  # type: ignore[attr-defined]
    if _schema.is_struct(kind):
        import msgspec

        return msgspec.convert(value, kind)
    if issubclass(kind, enum.Enum):
        return kind(value)
    if isinstance(value, dict) and (dataclasses.is_dataclass(kind) or typing.is_typeddict(kind)):
        return _convert_fields(value, kind)
    reader = _READERS.get(kind)
    try:
        return value if reader is None or value is None else reader(value)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise InputError(f"{value!r} is not a {kind.__name__}: {error}") from error


def _convert_items(value: list[Any], origin: Any, args: tuple[Any, ...]) -> Any:
    if origin is tuple and not (len(args) == 2 and args[1] is Ellipsis):
        return tuple(convert(item, hint) for item, hint in zip(value, args))
    return origin(convert(item, args[0]) for item in value)


def _convert_union(value: Any, args: tuple[Any, ...]) -> Any:
    if value is None and type(None) in args:
        return None
    # A value that is an instance of a branch already is that branch.
    if any(isinstance(arg, type) and type(value) is arg for arg in args):
        return value
    for arg in args:
        if arg is type(None):
            continue
        try:
            return convert(value, arg)
        except Exception:
            continue
    return value


def _convert_fields(value: dict[str, Any], kind: Any) -> Any:
    hints = typing.get_type_hints(kind, include_extras=True)
    made = {key: convert(item, hints.get(key, Any)) for key, item in value.items()}
    return made if typing.is_typeddict(kind) else kind(**made)
