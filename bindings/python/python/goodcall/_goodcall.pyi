from typing import Any, Literal, Sequence, TypeVar

T = TypeVar("T")

__version__: str

def command(words: Sequence[str]) -> int: ...
def recommendations(class_: str, /) -> list[str]: ...
def merge_audits(states: Sequence[bytes]) -> bytes: ...
def audit_report(state: bytes, policy: str, form: str) -> str: ...

class Audit:
    """Counts the calls of record batches."""

    def __init__(
        self,
        tools: Tools | None,
        raw: str | None = None,
        tool: str | None = None,
        conversation: str | None = None,
        source: str = "batch",
        show_arguments: bool = False,
    ) -> None: ...
    def add(self, batch: Any) -> None: ...
    def state(self) -> bytes: ...

class Change:
    """One difference between what was sent and what came out."""

    @property
    def rule(self) -> str:
        """The name of the rule that made it."""
    @property
    def level(self) -> Literal["safe", "eager"]: ...
    @property
    def path(self) -> str:
        """The place, as a JSON Pointer."""
    @property
    def before(self) -> Any:
        """What was there: a value, or raw text if the change is one of the text itself."""
    @property
    def after(self) -> Any: ...
    @property
    def moved_from(self) -> str | None:
        """The path that a value was moved from."""
    @property
    def span(self) -> tuple[int, int]:
        """The bytes of the raw text that this is about."""
    @property
    def count(self) -> int:
        """How often the rule did this: more than 1 only if a call takes very many changes."""
    @property
    def sentence(self) -> str:
        """The change in one sentence, which is also what ``str`` returns."""
    def to_dict(self) -> dict[str, Any]: ...

class Issue:
    """What is wrong at one place of a bad call. As a string: the edit that it asks for."""

    @property
    def path(self) -> str:
        """The place, as a JSON Pointer."""
    @property
    def code(self) -> str:
        """What kind of fault, such as ``missing``."""
    @property
    def expected(self) -> str: ...
    @property
    def got(self) -> str | None: ...
    @property
    def allowed(self) -> list[Any]: ...
    @property
    def nearest(self) -> Any:
        """The name or allowed value that is nearest to what was sent."""
    @property
    def edit(self) -> str:
        """The edit that it asks for, which is also what ``str`` returns."""
    def to_dict(self) -> dict[str, Any]: ...

class Verdict:
    """The verdict on one call. It is true unless the call is bad. It can be pickled."""

    @property
    def kind(self) -> Literal["good", "mended", "bad"]: ...
    @property
    def ok(self) -> bool:
        """Whether the call may be run."""
    @property
    def tool(self) -> str:
        """The tool's name; that of the offered tool if another name stands for it."""
    @property
    def arguments(self) -> dict[str, Any] | None:
        """The valid arguments as plain values, integers exact; ``None`` if the call is bad."""
    @property
    def json(self) -> str | None:
        """The valid arguments as JSON text, digits as written; of a good call the text as sent."""
    @property
    def changes(self) -> list[Change]:
        """Every difference from what was sent."""
    @property
    def issues(self) -> list[Issue]:
        """Everything that is wrong with a bad call."""
    @property
    def more(self) -> int:
        """How many issues there are beyond those that are listed."""
    @property
    def reason(self) -> str | None:
        """Why the call is bad: ``truncated``, ``malformed``, ``wrong_shape``, …"""
    @property
    def error_class(self) -> str | None:
        """The class of the error for the model: ``validation``, ``truncated``, ``unknown_tool``, ``loop``."""
    @property
    def text(self) -> str:
        """What the model should read if the call is bad; else empty."""
    def explain(self, style: str) -> str:
        """Returns the text in another style, such as ``structured``."""
    def model(self, kind: type[T]) -> T:
        """Returns the arguments as a pydantic model, a dataclass, a TypedDict or a msgspec Struct.

        Raises ``BadCall`` if the call is bad."""
    def to_dict(self) -> dict[str, Any]:
        """Returns the verdict in the form of ``goodcall check --jsonl``."""
    def __bool__(self) -> bool: ...

class Call:
    """A call that was found in a text or in a stream."""

    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str: ...
    @property
    def raw(self) -> str:
        """The arguments as JSON text, as sent if they were sent as JSON."""
    @property
    def arguments(self) -> dict[str, Any] | None: ...
    @property
    def span(self) -> tuple[int, int]:
        """The bytes of the text that the call was read from."""
    @property
    def verdict(self) -> Verdict: ...

class Extraction:
    """The calls of a text, and what is around them."""

    @property
    def calls(self) -> list[Call]: ...
    @property
    def content(self) -> str: ...
    @property
    def reasoning(self) -> str: ...

class Tools:
    def __new__(cls, definitions: str, *, policy: Any = None, style: str | None = None) -> Any: ...
    def check(
        self,
        name: str,
        arguments: Any,
        *,
        stop: str | None = None,
        policy: str | None = None,
    ) -> Verdict:
        """Judges the arguments of a call: text or bytes as the model sent them, or values.

        ``stop`` says how the message ended: ``"finished"``, ``"cut_off"`` or ``"unknown"``."""
    def extract(
        self,
        text: str,
        *,
        scope: Literal["explicit", "anywhere"] = "explicit",
        stop: str | None = None,
        policy: str | None = None,
    ) -> Extraction:
        """Finds the calls that a model wrote into plain text, in any dialect."""
    @property
    def names(self) -> list[str]: ...
    def definitions_json(self, provider: str) -> str: ...
    def schema_json(self, name: str) -> str: ...
    def __len__(self) -> int: ...
    def __contains__(self, name: str) -> bool: ...

class Update:
    """What a fragment changed."""

    @property
    def kind(self) -> Literal["text", "started", "hopeless", "call"]: ...
    @property
    def text(self) -> str | None:
        """Text outside calls, or what the model should read about a hopeless call."""
    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def call(self) -> Call | None: ...

class Stream:
    """Reads a streamed message: ``push`` its events, then ``finish``.

    A call is reported when it starts, when it can no longer become valid, and when it is complete and
    judged. ``scope`` (``"explicit"`` or ``"anywhere"``) looks for calls in the text, too."""

    def __new__(
        cls,
        tools: Tools,
        provider: str = "openai",
        *,
        scope: str | None = None,
        policy: str | None = None,
    ) -> Stream: ...
    def push(self, event: Any) -> list[Update]:
        """Takes one event: its JSON text, or the values that it holds."""
    def push_text(self, text: str) -> list[Update]:
        """Takes text of the message that is not an event."""
    def finish(self) -> list[Update]:
        """Ends the message, and returns everything that was undecided."""

class LoopReport:
    """A suspected loop, with the evidence."""

    @property
    def signal(self) -> str: ...
    @property
    def escalation(self) -> Literal["steer", "ask", "stop"]: ...
    @property
    def level(self) -> int: ...
    @property
    def tools(self) -> list[str]: ...
    @property
    def times(self) -> int: ...
    @property
    def call_id(self) -> str: ...
    @property
    def detail(self) -> str | None: ...
    @property
    def text(self) -> str:
        """What the model should read."""

class LoopDetector:
    """Looks for loops in the turns of one run. Keywords set thresholds."""

    def __new__(cls, **rules: int) -> LoopDetector: ...
    def observe(
        self, name: str, arguments: Any, result: Any, error: str | None = None
    ) -> LoopReport | None:
        """Takes in one call with its result: a text, a value or a bad verdict."""
    def observe_turn(
        self, turn: Sequence[tuple[str, Any, Any, str | None]]
    ) -> LoopReport | None:
        """Takes in the calls of one turn: name, arguments, result and the class of an error."""
    def reset(self) -> None:
        """Forgets the calls so far, because the user has said something new."""

class Relay:
    def __new__(
        cls,
        *,
        policy: Any = None,
        style: str | None = None,
        reasks: int = 2,
        give_up: str = "as_sent",
        scope: str | None = None,
        fix_history: bool = True,
    ) -> Relay: ...
    def exchange(self, method: str, path: str, headers: list[str], body: bytes) -> Exchange | None: ...

class Exchange:
    def body(self) -> bytes: ...
    def reply(self, body: bytes) -> tuple[bool, bytes | None]: ...
    def failure(self, body: bytes) -> tuple[bool, bytes | None]: ...
    def is_stream(self, media_type: str) -> bool: ...
    def streams(self) -> bool: ...
    def give_up(self) -> bytes | None: ...
    def summary(self) -> str: ...
    def records(self) -> list[dict[str, Any]]: ...
    def stream(self) -> StreamRelay: ...

class StreamRelay:
    def push(self, bytes: bytes) -> bytes: ...
    def end(self) -> tuple[bool, bytes]: ...
    def failure(self, body: bytes) -> tuple[bool, bytes] | None: ...
    def is_stream(self, media_type: str) -> bool: ...
    def media_type(self) -> str: ...
    def begin_next(self) -> None: ...
    def give_up(self) -> bytes: ...
    def abort(self) -> bytes: ...
    def body(self) -> bytes: ...
    def records(self) -> list[dict[str, Any]]: ...

class VerdictBatch:
    """Verdicts on a record batch, for everything that reads Arrow's PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    @staticmethod
    def __arrow_c_schema__() -> object: ...
    def __len__(self) -> int: ...

class VerdictTable:
    """Verdicts on a table, for everything that reads Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    @staticmethod
    def __arrow_c_schema__() -> object: ...
    def __len__(self) -> int: ...

def check_arrow(
    tools: Tools, data: Any, raw: str, tool: str, always: str | None, stop: str | None
) -> VerdictBatch | VerdictTable: ...
