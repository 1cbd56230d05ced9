"""The offered tools, in whatever form they are written down."""

from __future__ import annotations

import dataclasses
import inspect
import json
import typing
from typing import Any, Callable, Iterable, Mapping, Union

from . import _goodcall, _schema
from ._errors import ToolsError
from ._json import dumps

#: A definition: a provider's form, a class, or a function with type hints.
Definition = Union[Mapping[str, Any], type, Callable[..., Any], Any]
#: A level with switches (``"eager,-enum-typo"``), or a table with ``level``, ``rules`` and ``tools``.
Policy = Union[str, Mapping[str, Any]]


class Tools(_goodcall.Tools):
    """The tools that are offered to a model, compiled once. Safe to share between threads.

    ``definitions`` are one or several of: OpenAI's, Anthropic's, Gemini's, Bedrock's or MCP's form, as
    JSON text or as values; pydantic models, dataclasses, ``TypedDict`` and msgspec Structs; functions
    with type hints.

    Raises ``ToolsError`` for what is no definition, and ``SchemaError``, which names the tool and the
    place, for a schema that cannot be used.
    """

    _made_from: tuple[str, Policy | None, str | None]

    def __new__(
        cls,
        definitions: str | Definition | Iterable[Definition],
        *,
        policy: Policy | None = None,
        style: str | None = None,
    ) -> Tools:
        text = definitions if isinstance(definitions, str) else dumps(form(definitions))
        made: Tools = super().__new__(cls, text, policy=policy, style=style)
        made._made_from = (text, policy, style)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _tools_of, (type(self), *self._made_from)

    def definitions(self, provider: str = "openai") -> Any:
        """Returns the definitions in a provider's form, for a request."""
        return json.loads(self.definitions_json(provider))

    def schema(self, name: str) -> dict[str, Any]:
        """Returns the schema of a tool's parameters."""
        schema = json.loads(self.schema_json(name))
        if isinstance(schema, dict):
            return schema
        # `true` allows everything and `false` nothing.
        return {} if schema else {"not": {}}


def _tools_of(cls: type[Tools], text: str, policy: Policy | None, style: str | None) -> Tools:
    """Makes tools that were pickled: another process compiles their schemas again."""
    return cls(text, policy=policy, style=style)


def form(definition: Any) -> Any:
    """Returns a definition as JSON values in a form that the engine reads."""
    if isinstance(definition, Mapping):
        return dict(definition)
    own = getattr(definition, "definition", None)
    if isinstance(own, Mapping):
        return dict(own)
    if isinstance(definition, type) or typing.is_typeddict(definition):
        return of_class(definition)
    if hasattr(definition, "model_dump"):
        return definition.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(definition, Iterable) and not isinstance(definition, (str, bytes)):
        return [form(item) for item in definition]
    if callable(definition):
        return of_function(definition)
    raise ToolsError(f"{definition!r} is not a tool definition: expected a provider's form, a class "
                     "or a function with type hints")


def of_class(kind: Any) -> dict[str, Any]:
    """Returns the definition of a tool whose arguments are an instance of a class."""
    description = None if _has_generated_doc(kind) else _schema.summary(kind.__doc__)
    schema = _schema.of_type(kind)
    if schema.get("type") != "object":
        raise ToolsError(f"`{kind.__name__}` is not an object: a call's arguments have names")
    about = {"description": description} if description else {}
    return {"name": kind.__name__, **about, "parameters": schema}


def _has_generated_doc(kind: Any) -> bool:
    doc, name = kind.__doc__, kind.__name__
    generated = dataclasses.is_dataclass(kind) and str(doc).startswith(f"{name}(")
    return generated or doc in (dict.__doc__, None)


def of_function(function: Callable[..., Any], name: str | None = None) -> dict[str, Any]:
    """Returns the definition of a function with type hints."""
    if not (inspect.isroutine(function) or hasattr(function, "__wrapped__")):
        function = function.__call__  # type: ignore[operator]
    called = name or function.__name__
    parameters = _schema.of_function(function)
    description = _schema.summary(function.__doc__)
    about = {"description": description} if description else {}
    return {"name": called, **about, "parameters": parameters}
