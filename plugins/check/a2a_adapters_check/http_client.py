"""HTTP client for broken or hostile agents: bounded in size and time, never raises."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
from pydantic_core import from_json

from a2a_adapters import RemoteAnswerError
from a2a_adapters.calling.http import MAX_BYTES, make_client
from a2a_adapters.calling.json_http import event_data
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters.contract.errors import A2AAdaptersError, ForbiddenUrlError
from a2a_adapters.net.proxies import Proxies

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

MAX_ANSWER = 4 * 1024 * 1024
_EVENTS = 2_000
_AT_ONCE = 6
"""Maximum number of concurrent requests, so that a check is not a load test."""

_PATIENCE = 8.0
_SHARE = 4
"""Largest share of the total time that one answer may take."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Response to a request.

    Attributes:
        status: The HTTP status; 0 without a response.
        headers: The HTTP headers.
        content: The body, at most 4 MiB.
        seconds: Duration of the request.
        failure: Why there is no response; "" if there is one.
        is_answered: Whether the server responded, even if the body was too large.
        is_late: Whether the request timed out.
        is_forbidden: Whether the outbound policy refused the address.
        json: The parsed body, None if it is not JSON.
    """

    status: int = 0
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    content: bytes = b""
    seconds: float = 0
    failure: str = ""
    is_answered: bool = True
    is_late: bool = False
    is_forbidden: bool = False
    json: Any = None

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode(errors="replace")

    @property
    def media_type(self) -> str:
        """The media type, without parameters."""
        return media_type(self.headers)

    @property
    def is_refused(self) -> bool:
        """Whether the server demands credentials or rejects the given ones."""
        return self.status in {401, 403}


@dataclass(slots=True)
class Stream:
    """Event stream received from the agent.

    Attributes:
        answer: The response; its body is set only if it was not a stream.
        events: Pairs of the seconds until arrival and the parsed event, None if not JSON.
        has_ended: Whether the agent closed the stream.
    """

    answer: Answer = field(default_factory=Answer)
    events: list[tuple[float, Any]] = field(default_factory=list)
    has_ended: bool = False


_BROKEN = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a response in lower case, without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def make_http_client(
    origin: httpx.URL,
    auth: httpx.Auth | None,
    seconds: float,
    *,
    proxy: str | None = None,
    tls: ssl.SSLContext | None = None,
) -> HttpClient:
    """Return a client for an agent; the outbound policy limits the other hosts in its card."""
    options = RemoteOptions(
        timeout=seconds,
        connect_timeout=min(5.0, seconds),
        idle_timeout=seconds,
        retries=0,
        answer_bytes=MAX_ANSWER,
        proxy=proxy,
        tls=tls,
    )
    make = partial(make_client, origin, options)
    return HttpClient(make, auth, min(_PATIENCE, seconds / _SHARE), proxy, tls)


class HttpClient:
    """Sends requests with or without the caller's credentials.

    Args:
        make: Makes a client with the given credentials.
        auth: The caller's credentials.
        patience: Timeout of a request in seconds.
        proxy: The proxy, as `RemoteOptions.proxy`, for calls over other protocols.
        tls: The TLS settings of raw requests; by default certificates are verified.
    """

    def __init__(
        self,
        make: Callable[[httpx.Auth | None], httpx.AsyncClient],
        auth: httpx.Auth | None,
        patience: float,
        proxy: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.patience = patience
        self.proxy = proxy
        self._tls = tls
        self._make = make
        self._auth = auth
        self._known = make(auth)
        self._anonymous = make(None)
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._known.aclose()
        await self._anonymous.aclose()

    async def ask(  # noqa: PLR0913 - independent options
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        content: bytes | None = None,
        anonymous: bool = False,
        max_bytes: int = MAX_ANSWER,
        seconds: float | None = None,
        repeats: bool = True,
    ) -> Answer:
        """Send a request and return the response; failures are in `Answer.failure`.

        `seconds` overrides the timeout `patience`. If the connection breaks, the request is sent
        once more. If it must not be sent twice (`repeats`), it gets a connection of its own,
        because some servers close a connection after an error without saying so.
        """
        async with self._room, self._client(anonymous=anonymous, own=not repeats) as client:
            began = time.perf_counter()
            try:
                async with asyncio.timeout(seconds or self.patience):
                    request = partial(
                        client.request,
                        method,
                        url,
                        headers=headers,
                        json=json,
                        content=content,
                        extensions={MAX_BYTES: max_bytes},
                    )
                    try:
                        response = await request()
                    except _BROKEN:  # a server may close a connection after an error
                        if not repeats:
                            raise
                        response = await request()
            except (
                httpx.HTTPError,
                httpx.InvalidURL,
                A2AAdaptersError,
                TimeoutError,
                ValueError,
            ) as error:
                return _failed(error, time.perf_counter() - began)
        return _answer(response, response.content, time.perf_counter() - began)

    async def raw(self, url: str, headers: Sequence[str], body: bytes = b"") -> bytes:
        """Send a GET request with exactly these headers, on a connection of its own.

        Returns:
            The head of the response; empty without one, or behind a proxy, which sends its own.
        """
        target = httpx.URL(url)
        if Proxies(self.proxy).of(target):
            return b""
        is_tls = target.scheme == "https"
        port = target.port or (443 if is_tls else 80)
        lines = [f"GET {target.raw_path.decode('ascii')} HTTP/1.1", *headers, "", ""]
        try:
            async with self._room, asyncio.timeout(self.patience):
                reader, writer = await asyncio.open_connection(
                    target.host, port, ssl=(self._tls or True) if is_tls else None
                )
                try:
                    writer.write("\r\n".join(lines).encode("ascii") + body)
                    return await reader.readuntil(b"\r\n\r\n")
                finally:
                    writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return b""

    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        json: Any,
        seconds: float,
        begun: asyncio.Event | None = None,
    ) -> Stream:
        """Send a request and return the events received within `seconds`; never raises.

        `begun` is set with the first event, or when the stream has ended without one.
        """
        try:
            return await self._stream(method, url, headers, json, seconds, begun)
        finally:
            if begun is not None:
                begun.set()

    async def _stream(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        json: Any,
        seconds: float,
        begun: asyncio.Event | None,
    ) -> Stream:
        found = Stream()
        began = time.perf_counter()
        try:
            async with (
                asyncio.timeout(seconds),
                self._client(own=True) as client,
                client.stream(method, url, headers=headers, json=json) as response,
            ):
                if media_type(response.headers) != "text/event-stream":
                    content = await response.aread()
                    found.answer = _answer(response, content, time.perf_counter() - began)
                    return found
                found.answer = _answer(response, b"", time.perf_counter() - began)
                async for data in event_data(response.aiter_bytes()):
                    found.events.append((time.perf_counter() - began, as_json(data)))
                    if begun is not None:
                        begun.set()
                    if len(found.events) == _EVENTS:
                        return found
                found.has_ended = True
        except (httpx.HTTPError, httpx.InvalidURL, A2AAdaptersError, TimeoutError) as error:
            if not found.answer.status:
                found.answer = _failed(error, time.perf_counter() - began)
        return found

    @asynccontextmanager
    async def _client(
        self, *, own: bool, anonymous: bool = False
    ) -> AsyncGenerator[httpx.AsyncClient]:
        """Return a client with its `own` connection, or with one kept from earlier requests."""
        if not own:
            yield self._anonymous if anonymous else self._known
            return
        async with self._make(None if anonymous else self._auth) as client:
            yield client


def _answer(response: httpx.Response, content: bytes, seconds: float) -> Answer:
    return Answer(response.status_code, response.headers, content, seconds, json=as_json(content))


def _failed(error: Exception, seconds: float) -> Answer:
    is_late = isinstance(error, TimeoutError | httpx.TimeoutException)
    return Answer(
        seconds=seconds,
        failure="no answer in time" if is_late else str(error) or type(error).__name__,
        is_answered=isinstance(error, RemoteAnswerError),
        is_late=is_late,
        is_forbidden=isinstance(error, ForbiddenUrlError),
    )


def as_json(content: bytes | str) -> Any:
    """Return parsed JSON, None if it is invalid."""
    try:
        return from_json(content)
    except ValueError:
        return None
