"""Requests to an agent that may be broken or hostile: bounded, short, and never raising."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
from pydantic_core import from_json

from a2a_adapters import RemoteAnswerError
from a2a_adapters.calling.http import MAX_BYTES, make_client
from a2a_adapters.calling.json_http import event_data
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters.contract.errors import A2AAdaptersError, ForbiddenUrlError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_ANSWER = 4 * 1024 * 1024
_EVENTS = 2_000
_AT_ONCE = 6
"""How many requests are open at once: a check is no load test."""

_PATIENCE = 8.0
_SHARE = 4
"""The part of the time that one answer may take at most."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: The HTTP status; 0 if nothing came back.
        headers: The HTTP headers.
        content: The body, of 4 MiB at most.
        seconds: How long it took.
        failure: Why there is no answer, "" if there is one.
        is_answered: Whether anything came back, be it too much.
        is_late: Whether nothing came back in time.
        is_forbidden: Whether the outbound policy refused the address.
        json: The body as JSON, None if it is none.
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
        """Whether it says that credentials are needed, or other ones."""
        return self.status in {401, 403}


@dataclass(slots=True)
class Stream:
    """What came back as a stream of events.

    Attributes:
        answer: The answer without a body; with one, if it was no stream.
        events: The events as JSON, None for what is none, each with the seconds until it came.
        has_ended: Whether the agent closed the stream.
    """

    answer: Answer = field(default_factory=Answer)
    events: list[tuple[float, Any]] = field(default_factory=list)
    has_ended: bool = False


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of an answer, in lower case and without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def make_http_client(origin: httpx.URL, auth: httpx.Auth | None, seconds: float) -> HttpClient:
    """Return a client for an agent; other hosts that its card names are asked as far as is safe."""
    options = RemoteOptions(
        timeout=seconds,
        connect_timeout=min(5.0, seconds),
        idle_timeout=seconds,
        retries=0,
        answer_bytes=MAX_ANSWER,
    )
    known, anonymous = make_client(origin, options, auth), make_client(origin, options, None)
    return HttpClient(known, anonymous, min(_PATIENCE, seconds / _SHARE))


class HttpClient:
    """Sends requests with the caller's credentials, or without.

    Args:
        known: A client with the credentials.
        anonymous: A client without.
        patience: How many seconds an answer may take.
    """

    def __init__(
        self, known: httpx.AsyncClient, anonymous: httpx.AsyncClient, patience: float
    ) -> None:
        self.patience = patience
        self._known = known
        self._anonymous = anonymous
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._known.aclose()
        await self._anonymous.aclose()

    async def ask(
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
    ) -> Answer:
        """Send a request and return what comes back in time; nothing is raised.

        `seconds` is how long that may take, if it is not `patience`.
        """
        client = self._anonymous if anonymous else self._known
        async with self._room:
            began = time.perf_counter()
            try:
                async with asyncio.timeout(seconds or self.patience):
                    response = await client.request(
                        method,
                        url,
                        headers=headers,
                        json=json,
                        content=content,
                        extensions={MAX_BYTES: max_bytes},
                    )
            except (
                httpx.HTTPError,
                httpx.InvalidURL,
                A2AAdaptersError,
                TimeoutError,
                ValueError,
            ) as error:
                return _failed(error, time.perf_counter() - began)
        return _answer(response, response.content, time.perf_counter() - began)

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
        """Send a request and return the events that come in `seconds`; nothing is raised.

        `begun` is set when the first of them is there, or none can come any more.
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
                self._known.stream(method, url, headers=headers, json=json) as response,
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
    """Return what is JSON, None for what is none."""
    try:
        return from_json(content)
    except ValueError:
        return None
