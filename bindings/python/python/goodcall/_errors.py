"""The exceptions of goodcall. All of them are subclasses of :class:`Error`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._goodcall import Verdict


class Error(Exception):
    """The base class of everything that goodcall raises."""


class ToolsError(Error, ValueError):
    """Tool definitions cannot be read."""


class SchemaError(ToolsError):
    """The schema of a tool cannot be used.

    ``tool`` is the tool's name, ``path`` the JSON Pointer of the place in its schema, ``reason`` what is
    wrong there.
    """

    def __init__(self, message: str, tool: str | None, path: str, reason: str) -> None:
        super().__init__(message)
        self.tool = tool
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[SchemaError], tuple[str, str | None, str, str]]:
        return type(self), (str(self), self.tool, self.path, self.reason)


class SettingError(Error, ValueError):
    """A setting is not one of those expected: a policy, a style, a provider."""


class InputError(Error, ValueError):
    """A value that was handed in cannot be used."""


class BadCall(Error):
    """A call must not be run. Its text is what the model should read."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[BadCall], tuple[Verdict]]:
        return type(self), (self.verdict,)


class ToolError(Error):
    """Raise it inside a tool to say no: the model reads the message as it is.

    Any other exception counts as a failure of the tool itself.
    """


class InternalError(Error):
    """A mistake in goodcall itself. Please report it."""
