"""Functions as tools: called with what a model sent, and answered with what it can act on."""

from __future__ import annotations

import asyncio
import functools
import inspect
from dataclasses import dataclass, field
from typing import Any, Callable, Generic, Iterable, ParamSpec, TypeVar, overload

from . import _schema, _tools, _types
from ._errors import Error, InputError, ToolError
from ._goodcall import LoopDetector, LoopReport, Verdict, recommendations
from ._json import dumps

P = ParamSpec("P")
R = TypeVar("R")


class Tool(Generic[P, R]):
    """A function that a model can call. It stays callable as it was."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        destructive: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.definition: dict[str, Any] = _tools.of_function(function, name)
        self.name: str = self.definition["name"]
        if description is not None:
            self.definition["description"] = description
        if destructive:
            self.definition["annotations"] = {"destructiveHint": True}
        self._hints = _schema.hints_of(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    def bind(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Returns checked arguments as the types that the function asks for."""
        hints = self._hints
        return {key: _types.convert(value, hints.get(key, Any)) for key, value in arguments.items()}

    @property
    def is_async(self) -> bool:
        """Whether the function has to be awaited."""
        return inspect.iscoroutinefunction(self.function)


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, destructive: bool = False
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Makes a function a tool. Its type hints are the schema, its docstring the description.

    A tool that is ``destructive`` is never mended, unless the policy names it.
    """
    if function is not None:
        return Tool(function)
    return lambda function: Tool(function, **options)


@dataclass(frozen=True)
class Result:
    """What came of a call."""

    #: What the function returned.
    value: Any = None
    #: What the model reads: the value, or what went wrong.
    text: str = ""
    #: The class of the error: ``validation``, ``truncated``, ``unknown_tool``, ``runtime``,
    #: ``logical`` or ``loop``; ``None`` if the function returned.
    error: str | None = None
    #: The verdict on the arguments.
    verdict: Verdict | None = None
    #: The exception that the function raised.
    exception: BaseException | None = field(default=None, repr=False)
    #: The loop that this call completed.
    loop: LoopReport | None = None

    @property
    def ok(self) -> bool:
        """Whether the function ran and returned."""
        return self.error is None

    def __bool__(self) -> bool:
        return self.ok

    @property
    def recommendations(self) -> list[str]:
        """What the model should do after such an error."""
        return recommendations(self.error) if self.error else []


class Toolbox:
    """Functions that a model can call by name.

    ``loops`` detects a model that repeats itself: ``False`` for no detection, or a detector with
    thresholds of your own.
    """

    def __init__(
        self,
        tools: Iterable[Tool[..., Any] | Callable[..., Any]],
        *,
        policy: _tools.Policy | None = None,
        style: str | None = None,
        loops: LoopDetector | bool = True,
    ) -> None:
        made = [one if isinstance(one, Tool) else Tool(one) for one in tools]
        self._by_name = {one.name: one for one in made}
        self.tools = _tools.Tools([one.definition for one in made], policy=policy, style=style)
        self.loops = LoopDetector() if loops is True else loops or None

    def __repr__(self) -> str:
        return f"<Toolbox {', '.join(self._by_name)}>"

    def definitions(self, provider: str = "openai") -> Any:
        """Returns the definitions in a provider's form, for a request."""
        return self.tools.definitions(provider)

    def call(self, name: str, arguments: Any, *, stop: str | None = None) -> Result:
        """Checks a call and runs its function. It always returns a result.

        An async function runs in an event loop of its own; inside one use ``acall``.
        """
        verdict = self.tools.check(name, arguments, stop=stop)
        if not verdict:
            return self._refused(verdict, arguments)
        made = self._by_name[verdict.tool]
        if made.is_async and _has_running_loop():
            raise InputError(f"`{made.name}` is async and an event loop is running: await acall instead")
        try:
            bound = made.bind(verdict.arguments or {})
        except Exception as error:
            return self._failed(verdict, error, "validation")
        try:
            value = made.function(**bound)
            if inspect.iscoroutine(value):
                value = asyncio.run(value)
            text = _shown(value)
        except Exception as error:
            return self._failed(verdict, error)
        return self._observed(verdict, text, None, value=value)

    async def acall(self, name: str, arguments: Any, *, stop: str | None = None) -> Result:
        """Like ``call``, for an event loop: a function that is not async runs in a thread."""
        verdict = self.tools.check(name, arguments, stop=stop)
        if not verdict:
            return self._refused(verdict, arguments)
        made = self._by_name[verdict.tool]
        try:
            bound = made.bind(verdict.arguments or {})
        except Exception as error:
            return self._failed(verdict, error, "validation")
        try:
            if made.is_async:
                value = await made.function(**bound)
            else:
                value = await asyncio.to_thread(made.function, **bound)
                if inspect.isawaitable(value):
                    value = await value
            text = _shown(value)
        except Exception as error:
            return self._failed(verdict, error)
        return self._observed(verdict, text, None, value=value)

    def _failed(self, verdict: Verdict, error: Exception, kind: str = "runtime") -> Result:
        if isinstance(error, ToolError):
            kind = "logical"
        # Messages of goodcall are written to be read as they are.
        text = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
        return self._observed(verdict, text, kind, exception=error)

    def _observed(self, verdict: Verdict, text: str, error: str | None, **more: Any) -> Result:
        loop = None
        if self.loops is not None:
            loop = self.loops.observe(verdict.tool, verdict.json or "{}", text, error)
        return Result(text=_with_loop(text, loop), error=error, verdict=verdict, loop=loop, **more)

    def _refused(self, verdict: Verdict, arguments: Any) -> Result:
        loop = None
        if self.loops is not None:
            loop = self.loops.observe(verdict.tool, arguments, verdict)
        text = _with_loop(verdict.text, loop)
        return Result(text=text, error=verdict.error_class, verdict=verdict, loop=loop)


def _shown(value: Any) -> str:
    """What the model reads of a value: text as it is, JSON where that is possible."""
    if isinstance(value, str):
        return value
    try:
        return dumps(value)
    except InputError:
        return str(value)


def _with_loop(text: str, loop: LoopReport | None) -> str:
    return f"{text}\n\n{loop.text}" if loop else text


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
