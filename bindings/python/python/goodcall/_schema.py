"""JSON Schemas from Python types and functions, without any dependency."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import re
import types
import typing
import uuid
from collections import abc
from typing import Any, Callable, get_args, get_origin

from ._errors import ToolsError

Schema = dict[str, Any]

_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {"type": "string"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    dict: {"type": "object"},
    decimal.Decimal: {"type": "number"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    datetime.timedelta: {"type": "string", "format": "duration"},
    pathlib.Path: {"type": "string"},
    pathlib.PurePath: {"type": "string"},
}

_LISTS = (list, set, frozenset, abc.Sequence, abc.Iterable, abc.Collection, abc.Set)
_MAPS = (dict, abc.Mapping, abc.MutableMapping)

#: Types of parameters that a framework fills in, not the model.
_INJECTED = {"Context", "RunContext", "ToolContext", "RunContextWrapper", "ToolRuntime"}


def is_pydantic(kind: Any) -> bool:
    """Whether this is a pydantic model class."""
    return isinstance(kind, type) and hasattr(kind, "model_json_schema")


def is_struct(kind: Any) -> bool:
    """Whether this is a msgspec Struct class."""
    return isinstance(kind, type) and hasattr(kind, "__struct_fields__")


class Builder:
    """Makes the schema of one tool. Types that occur inside themselves become definitions."""

    def __init__(self) -> None:
        self.definitions: Schema = {}
        self.open: list[Any] = []

    def of(self, hint: Any) -> Schema:
        """Returns the schema of a type."""
        if hint is Any or hint is inspect.Parameter.empty or isinstance(hint, typing.TypeVar):
            return {}
        if isinstance(hint, type) and hint in _PLAIN:
            return dict(_PLAIN[hint])
        origin, args = get_origin(hint), get_args(hint)
        if origin is typing.Annotated:
            return self.annotated(args[0], args[1:])
        if getattr(origin, "_name", None) in ("Required", "NotRequired"):
            return self.of(args[0])
        if origin is typing.Literal:
            return literal(args)
        if origin in (typing.Union, types.UnionType):
            return self.union(args)
        if origin is tuple:
            return self.tuple_of(args)
        if origin in _LISTS:
            schema: Schema = {"type": "array", "items": self.of(args[0])}
            if origin in (set, frozenset, abc.Set):
                schema["uniqueItems"] = True
            return schema
        if origin in _MAPS:
            schema = {"type": "object"}
            if len(args) == 2 and args[1] is not Any:
                schema["additionalProperties"] = self.of(args[1])
            return schema
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        return self.named(hint, origin or hint)

    def named(self, hint: Any, kind: Any) -> Schema:
        """Returns the schema of a class; one that contains itself is a definition."""
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return literal([member.value for member in kind])
        name = str(getattr(kind, "__name__", None) or repr(hint))
        if is_pydantic(kind) or is_struct(kind):
            try:
                return self.foreign(library_schema(kind))
            except Exception as error:
                raise ToolsError(f"the type `{name}` has no JSON Schema: {error}") from error
        if not (dataclasses.is_dataclass(kind) or typing.is_typeddict(kind)):
            raise ToolsError(f"the type `{name}` has no JSON Schema: use a plain type, a dataclass, "
                             "a TypedDict, an Enum, a pydantic model or a msgspec Struct")
        if kind in self.open:
            self.definitions.setdefault(name, {})
            return {"$ref": f"#/$defs/{name}"}
        self.open.append(kind)
        schema = self.fields(kind)
        self.open.pop()
        if name in self.definitions:
            self.definitions[name] = schema
            return {"$ref": f"#/$defs/{name}"}
        return schema

    def fields(self, kind: Any) -> Schema:
        """Returns the schema of a dataclass or a TypedDict."""
        hints = read_hints(kind)
        if typing.is_typeddict(kind):
            required = [name for name, hint in hints.items() if _is_required(kind, name, hint)]
            properties = {name: self.of(hint) for name, hint in hints.items()}
            return closed(properties, required)
        properties, required = {}, []
        for field in dataclasses.fields(kind):
            if not field.init:
                continue
            schema = self.of(hints[field.name])
            if field.default is not dataclasses.MISSING:
                schema = with_default(schema, field.default)
            elif field.default_factory is dataclasses.MISSING:
                required.append(field.name)
            properties[field.name] = schema
        return closed(properties, required)

    def foreign(self, schema: Schema) -> Schema:
        """Takes over a schema that another library made, with its definitions."""
        schema = dict(schema)
        self.definitions.update(schema.pop("$defs", {}))
        return schema

    def annotated(self, hint: Any, notes: tuple[Any, ...]) -> Schema:
        """Returns the schema of a type with a description and bounds."""
        schema = self.of(hint)
        for note in notes:
            if isinstance(note, str):
                schema = {**schema, "description": note}
            elif isinstance(note, dict):
                schema = {**schema, **note}
            else:
                schema = {**schema, **bounds(note, schema)}
        return schema

    def union(self, args: tuple[Any, ...]) -> Schema:
        """Returns the schema of a union; plain types are listed together."""
        branches = [self.of(arg) for arg in args]
        if all(list(branch) == ["type"] for branch in branches):
            kinds = [branch["type"] for branch in branches]
            return {"type": kinds if len(kinds) > 1 else kinds[0]}
        return {"anyOf": branches}

    def tuple_of(self, args: tuple[Any, ...]) -> Schema:
        """Returns the schema of a tuple."""
        if len(args) == 2 and args[1] is Ellipsis:
            return {"type": "array", "items": self.of(args[0])}
        items = [self.of(arg) for arg in args]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}

    def finished(self, schema: Schema) -> Schema:
        """Returns the whole schema, with the definitions that it refers to."""
        return {**schema, "$defs": self.definitions} if self.definitions else schema


def _is_required(kind: Any, name: str, hint: Any) -> bool:
    # With postponed annotations the class itself does not know.
    marker = getattr(get_origin(hint), "_name", None)
    return marker == "Required" or marker != "NotRequired" and name in kind.__required_keys__


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the type hints of a function; names of the function around it are known, too."""
    try:
        local = inspect.getclosurevars(function).nonlocals
    except TypeError:
        local = {}
    return read_hints(function, dict(local) or None)


def read_hints(thing: Any, local: dict[str, Any] | None = None) -> dict[str, Any]:
    """Returns the type hints of a function or a class."""
    try:
        return typing.get_type_hints(thing, localns=local, include_extras=True)
    except Exception as error:
        name = getattr(thing, "__name__", thing)
        raise ToolsError(f"the type hints of `{name}` cannot be read: {error}") from error


def library_schema(kind: Any) -> Schema:
    """Returns the schema that pydantic or msgspec makes of its own class."""
    if is_pydantic(kind):
        return dict(kind.model_json_schema())
    import msgspec

    return msgspec.json.schema(kind)


def bounds(note: Any, schema: Schema) -> Schema:
    """Returns what an annotation says: pydantic's Field, annotated-types, msgspec.Meta."""
    found: Schema = {}
    length = {"array": ("minItems", "maxItems")}.get(str(schema.get("type")), ("minLength", "maxLength"))
    keys = (("ge", "minimum"), ("gt", "exclusiveMinimum"), ("le", "maximum"),
            ("lt", "exclusiveMaximum"), ("multiple_of", "multipleOf"), ("pattern", "pattern"),
            ("min_length", length[0]), ("max_length", length[1]), ("description", "description"))
    for one in (note, *getattr(note, "metadata", ())):
        for attribute, key in keys:
            value = getattr(one, attribute, None)
            if value is not None:
                found[key] = value
    return found


def literal(values: typing.Iterable[Any]) -> Schema:
    """Returns the schema of a few allowed values."""
    values = list(values)
    kinds = {type(value) for value in values}
    schema: Schema = {"enum": values}
    if len(kinds) == 1 and (kind := kinds.pop()) in _PLAIN:
        schema = {**_PLAIN[kind], **schema}
    return schema


def closed(properties: Schema, required: list[str]) -> Schema:
    """Returns the schema of an object that allows these members and no others."""
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def with_default(schema: Schema, value: Any) -> Schema:
    """Adds a default, if it is a JSON value."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, (str, int, float, bool, type(None))):
        return {**schema, "default": value}
    return schema


def of_function(function: Callable[..., Any]) -> Schema:
    """Returns the schema of a function's parameters."""
    builder = Builder()
    hints = hints_of(function)
    about = parameter_docs(function)
    properties: Schema = {}
    required: list[str] = []
    more = False
    for name, parameter in model_parameters(function).items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            more = True
            continue
        schema = builder.of(hints.get(name, Any))
        if name in about and "description" not in schema:
            schema = {**schema, "description": about[name]}
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
        else:
            schema = with_default(schema, parameter.default)
        properties[name] = schema
    schema = closed(properties, required)
    if more:
        del schema["additionalProperties"]
    return builder.finished(schema)


def model_parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Returns the parameters that a model fills in: not ``self``, and not a framework's context."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = parameter.annotation
        kind = hint.split("[")[0].split(".")[-1] if isinstance(hint, str) else getattr(hint, "__name__", "")
        if name in ("self", "cls") or kind in _INJECTED:
            continue
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
            raise ToolsError(f"the function `{function.__name__}` takes `{name}` by position only: "
                             "a model's arguments have names")
        found[name] = parameter
    return found


def of_type(kind: Any) -> Schema:
    """Returns the schema of a class: a pydantic model, a dataclass, a TypedDict, a msgspec Struct."""
    builder = Builder()
    schema = builder.of(kind)
    # What refers to itself is spelt out at the root, where a schema must be an object.
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return builder.finished({**builder.definitions.get(name, schema)})


def summary(doc: str | None) -> str | None:
    """Returns the part of a docstring before its list of parameters."""
    if not doc:
        return None
    text = re.split(r"\n\s*(?:Args|Arguments|Parameters|Returns|Raises)\s*:?\s*\n|\n\s*:param ", inspect.cleandoc(doc))[0]
    return text.strip() or None


def parameter_docs(function: Callable[..., Any]) -> dict[str, str]:
    """Returns what a docstring says about parameters, in Google's or Sphinx's form."""
    doc = inspect.getdoc(function) or ""
    found = {name: text.strip() for name, text in re.findall(r":param (?:\w+ )?(\w+):\s*([^\n]+)", doc)}
    section = re.search(r"\n(?:Args|Arguments|Parameters)\s*:\s*\n((?:[ \t]+.*\n?|\n)+)", "\n" + doc + "\n")
    if section:
        lines = re.findall(r"^[ \t]+(\w+)(?:\s*\([^)]*\))?:\s*(.+(?:\n[ \t]{6,}.+)*)", section[1], re.M)
        found.update((name, " ".join(text.split())) for name, text in lines)
    return found
