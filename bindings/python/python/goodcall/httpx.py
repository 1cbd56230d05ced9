"""The gateway without a gateway: a transport that judges tool calls on their way to the client.

>>> client = OpenAI(http_client=httpx.Client(transport=goodcall.httpx.Transport()))  # doctest: +SKIP

Calls of replies are checked against the tools of the request: good ones pass untouched, one that has
exactly one valid reading is mended, and for a bad one the model is asked again. It works for ``httpx``
and ``httpx2``, whole and streamed, for OpenAI's Chat Completions and Responses, Anthropic's Messages,
Gemini's generateContent, Bedrock's Converse and Ollama's chat. Everything else passes through. A
request that is signed (AWS) is sent once and as it is; the calls of its reply are mended.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any, AsyncIterator, Callable, Coroutine, Iterator, Literal

from ._errors import InternalError, SettingError
from ._goodcall import Exchange, Relay, StreamRelay
from ._tools import Policy

#: What ``on_calls`` gets: one dict per call, with ``tool``, ``verdict``, ``reason``, ``rules`` and
#: ``attempt``.
Records = list[dict[str, Any]]


def _library(inner: Any, named: Any) -> Any:
    """Returns the module ``httpx`` or ``httpx2``: the one named, that of the inner transport, or the
    newer one of those that are there."""
    if named is not None:
        return importlib.import_module(named) if isinstance(named, str) else named
    if inner is not None:
        for kind in type(inner).__mro__:
            root = kind.__module__.split(".")[0]
            if root in ("httpx", "httpx2"):
                return importlib.import_module(root)
    for name in ("httpx2", "httpx"):
        if name in sys.modules or importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise SettingError("neither httpx2 nor httpx is installed")


class _Judge:
    """What both transports share: all but the calls of the library, which they await here."""

    #: The class of the library that streams of bytes are made from.
    _stream_base: str

    def __init__(
        self,
        inner: Any = None,
        *,
        policy: Policy | None = None,
        reasks: int = 2,
        give_up: str = "as_sent",
        style: str | None = None,
        scope: str | None = None,
        fix_history: bool = True,
        on_calls: Callable[[Records], None] | None = None,
        library: Any = None,
    ) -> None:
        self._httpx = _library(inner, library)
        self._inner = inner if inner is not None else self._default()
        self._on_calls = on_calls
        self._relay = Relay(policy=policy, style=style, reasks=reasks, give_up=give_up,
                            scope=scope, fix_history=fix_history)
        self._signed = Relay(policy=policy, style=style, reasks=0, give_up=give_up,
                             scope=scope, fix_history=False)

    def _default(self) -> Any:
        """Returns the library's own transport."""
        raise NotImplementedError

    async def _send(self, request: Any) -> Any:
        """Returns the response to a request."""
        raise NotImplementedError

    async def _read(self, message: Any) -> Any:
        """Reads a request or a response to its end; returns the bytes."""
        raise NotImplementedError

    async def _close(self, reply: Any) -> None:
        raise NotImplementedError

    def _pieces(self, reply: Any) -> AsyncIterator[bytes]:
        """Iterates over the bytes of a response as they come."""
        raise NotImplementedError

    async def _handle(self, request: Any) -> Any:
        """Returns the response for the client."""
        exchange = self._exchange(request, await self._read(request))
        if exchange is None:
            return await self._send(request)
        reply = await self._send(self._again(request, exchange.body(), first=True))
        kind = _kind(reply, exchange)
        if kind == "stream":
            return self._stream(request, reply, exchange.stream())
        if kind is None:
            return reply
        await self._read(reply)
        if reply.is_success or not exchange.streams():
            return await self._whole(request, reply, exchange)
        relay = exchange.stream()
        begun = relay.failure(reply.content)
        return reply if begun is None else self._stream(request, reply, relay, begun)

    def _exchange(self, request: Any, body: bytes) -> Exchange | None:
        if request.headers.get("content-encoding"):
            return None
        path = request.url.raw_path.decode("ascii")
        # A signature fits one body only, so such a request is sent once and as it is.
        is_signed = request.headers.get("authorization", "").startswith("AWS4-")
        relay = self._signed if is_signed else self._relay
        return relay.exchange(request.method, path, list(request.headers), body)

    def _again(self, request: Any, body: bytes, *, first: bool = False) -> Any:
        """Returns the request with another body. One that asks again is not the same request."""
        skipped = ["content-length", "transfer-encoding", "accept-encoding"]
        skipped += [] if first else ["idempotency-key"]
        headers = [(k, v) for k, v in request.headers.raw if k.decode().lower() not in skipped]
        # What cannot be decoded cannot be judged.
        headers.append((b"accept-encoding", b"identity"))
        return self._httpx.Request(request.method, request.url, headers=headers, content=body,
                                   extensions=request.extensions)

    async def _whole(self, request: Any, reply: Any, exchange: Exchange) -> Any:
        """Judges a reply that was read, and asks again; returns the response for the client."""
        again, judged = exchange.reply(reply.content) if reply.is_success else exchange.failure(reply.content)
        if not again and judged is None and not reply.is_success:
            return reply
        answer = reply
        while again:
            following = await self._ask(self._again(request, exchange.body()))
            if following is None or _media_type(following) != "application/json":
                again, judged = False, None
            elif following.is_success:
                answer = following
                again, judged = exchange.reply(following.content)
                continue
            else:
                again, judged = exchange.failure(following.content)
            if not again and judged is None:
                judged = exchange.give_up()
        if judged is None and not answer.is_success:
            return answer
        return self._response(answer, answer.content if judged is None else judged, exchange)

    async def _ask(self, request: Any) -> Any:
        """Returns the reply to a request that asks again, read, or ``None``."""
        try:
            reply = await self._send(request)
            await self._read(reply)
        except self._httpx.TransportError:
            return None
        return reply

    def _response(self, reply: Any, content: bytes, exchange: Exchange) -> Any:
        skipped = ("content-length", "transfer-encoding", "content-encoding")
        headers = [(k, v) for k, v in reply.headers.raw if k.decode().lower() not in skipped]
        headers.append((b"goodcall-verdict", exchange.summary().encode()))
        self._report(exchange)
        status = reply.status_code if reply.is_success else 200
        return self._httpx.Response(status, headers=headers, content=content,
                                    extensions=_kept(reply.extensions))

    def _stream(
        self, request: Any, reply: Any, relay: StreamRelay, begun: tuple[bool, bytes] | None = None
    ) -> Any:
        skipped = ("content-length", "content-encoding", "content-type")
        headers = [(k, v) for k, v in reply.headers.raw if k.decode().lower() not in skipped]
        kind = reply.headers.get("content-type") if reply.is_success else relay.media_type()
        # The verdicts are known only when the stream is over.
        headers += [(b"content-type", kind.encode()), (b"goodcall-verdict", b"stream")]
        events = self._events(request, reply, relay, begun)
        stream = _stream_class(self._httpx, self._stream_base)(events, reply)
        status = reply.status_code if reply.is_success else 200
        return self._httpx.Response(status, headers=headers, stream=stream,
                                    extensions=_kept(reply.extensions))

    async def _events(
        self, request: Any, reply: Any, relay: StreamRelay, begun: tuple[bool, bytes] | None
    ) -> AsyncIterator[bytes]:
        """Judges a stream and asks again. ``begun`` is what came of a reply that is not a stream."""
        try:
            while True:
                if begun is None:
                    try:
                        async for piece in self._pieces(reply):
                            if out := relay.push(piece):
                                yield out
                    except self._httpx.TransportError:
                        if out := relay.abort():
                            yield out
                        raise
                    begun = relay.end()
                again, out = begun
                if out:
                    yield out
                if not again:
                    return
                await self._close(reply)
                begun = None
                try:
                    reply = await self._send(self._again(request, relay.body()))
                    kind = _kind(reply, relay)
                    if kind == "json":
                        begun = relay.failure(await self._read(reply))
                except self._httpx.TransportError:
                    kind = None
                if kind == "stream":
                    relay.begin_next()
                elif begun is None:
                    if out := relay.give_up():
                        yield out
                    return
        finally:
            await self._close(reply)
            self._report(relay)

    def _report(self, exchange: Exchange | StreamRelay) -> None:
        if self._on_calls is not None and (records := exchange.records()):
            self._on_calls(records)


def _kept(extensions: Any) -> dict[str, Any]:
    """The extensions of a response that stay true when its body is another."""
    return {key: value for key, value in extensions.items() if key != "network_stream"}


def _media_type(reply: Any) -> str:
    return str(reply.headers.get("content-type", "")).split(";")[0].strip().lower()


def _kind(reply: Any, exchange: Exchange | StreamRelay) -> Literal["stream", "json", None]:
    """What a reply that can be judged is. Errors are JSON, if they can be."""
    kind = _media_type(reply)
    if reply.is_success and exchange.is_stream(kind):
        return "stream"
    is_error = reply.status_code >= 400
    return "json" if kind == "application/json" and (reply.is_success or is_error) else None


class Transport(_Judge):
    """A transport for ``httpx.Client`` and ``httpx2.Client``.

    ``inner`` is the transport that reaches the network; by default the library's own. ``reasks`` is how
    many times a model may be asked again per request; ``give_up`` is what the client gets for a call
    that stays bad: ``"as_sent"``, or ``"text"`` for the explanation in its place. ``scope``
    (``"explicit"`` or ``"anywhere"``) turns calls that a model wrote into its text into real ones.
    ``on_calls`` is told of the verdicts of each exchange.
    """

    _stream_base = "SyncByteStream"

    def _default(self) -> Any:
        return self._httpx.HTTPTransport()

    async def _send(self, request: Any) -> Any:
        return self._inner.handle_request(request)

    async def _read(self, message: Any) -> Any:
        return message.read()

    async def _close(self, reply: Any) -> None:
        reply.close()

    async def _pieces(self, reply: Any) -> AsyncIterator[bytes]:
        for piece in reply.iter_bytes():
            yield piece

    def handle_request(self, request: Any) -> Any:
        return _at_once(self._handle(request))

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Transport:
        self._inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._inner.__exit__(*error)


class AsyncTransport(_Judge):
    """The same for ``httpx.AsyncClient`` and ``httpx2.AsyncClient``."""

    _stream_base = "AsyncByteStream"

    def _default(self) -> Any:
        return self._httpx.AsyncHTTPTransport()

    async def _send(self, request: Any) -> Any:
        return await self._inner.handle_async_request(request)

    async def _read(self, message: Any) -> Any:
        return await message.aread()

    async def _close(self, reply: Any) -> None:
        await reply.aclose()

    def _pieces(self, reply: Any) -> AsyncIterator[bytes]:
        pieces: AsyncIterator[bytes] = reply.aiter_bytes()
        return pieces

    async def handle_async_request(self, request: Any) -> Any:
        return await self._handle(request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> AsyncTransport:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._inner.__aexit__(*error)


def _at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """Returns what a coroutine returns that waits for nothing: every await in it has its answer."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise InternalError("a coroutine of the synchronous transport waits for something")


def _stream_class(library: Any, base: str) -> Any:
    """Returns a stream of the library over what the client gets; closing it closes the reply."""

    class Judged(getattr(library, base)):  # type: ignore[misc]
        def __init__(self, events: Any, reply: Any) -> None:
            self._events = events
            self._reply = reply

        def __iter__(self) -> Iterator[bytes]:
            while (piece := _at_once(anext(self._events, None))) is not None:
                yield piece

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._events:
                yield piece

        def close(self) -> None:
            _at_once(self._events.aclose())
            self._reply.close()

        async def aclose(self) -> None:
            await self._events.aclose()
            await self._reply.aclose()

    return Judged
