"""Requests of JSON to an agent, and its answers of JSON or of server-sent events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.json_format import ParseDict, ParseError
from pydantic_core import from_json, to_json

from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.calling.failure import BUSY, UNAUTHORIZED
from a2a_adapters.calling.parsing import made
from a2a_adapters.calling.sse import Events
from a2a_adapters.protocol.shown import quote

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    import httpx
    from a2a.client import ClientCallContext
    from google.protobuf.message import Message as ProtocolMessage

    from a2a_adapters.calling.errors import RemoteRefusedError

M = TypeVar("M", bound="ProtocolMessage")
T = TypeVar("T")

_TOLD_BY_STATUS = UNAUTHORIZED | BUSY
"""What the HTTP status says better than the body: other credentials, or another time."""

_EVENT_STREAM = "text/event-stream"
_EXTENSIONS = "A2A-Extensions"


def headers_of(version: str, context: ClientCallContext | None) -> dict[str, str]:
    """Return the headers of a call; servers of 0.3 know extensions by another name as well."""
    headers = {"A2A-Version": version, **((context and context.service_parameters) or {})}
    if version == "0.3" and _EXTENSIONS in headers:
        headers[f"X-{_EXTENSIONS}"] = headers[_EXTENSIONS]
    return headers


@dataclass(frozen=True, slots=True)
class JsonHttp:
    """What calls of one binding go through.

    Attributes:
        http: The client, which bounds what comes back.
        refusal: Returns what an answer's body refuses with; None if it refuses nothing.
    """

    http: httpx.AsyncClient
    refusal: Callable[[object], RemoteRefusedError | None]

    def request(
        self,
        method: str,
        url: str | httpx.URL,
        headers: dict[str, str],
        body: dict[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> httpx.Request:
        """Return a request; the body is sent as JSON."""
        content = None
        if body is not None:
            content = to_json(body)
            headers = {**headers, "Content-Type": "application/json"}
        return self.http.build_request(
            method, url, content=content, params=query or None, headers=headers
        )

    async def fetch(self, request: httpx.Request, make: Callable[[object], T]) -> T:
        """Send a request and return what `make` makes of the JSON that answers it.

        Raises:
            RemoteRefusedError: The agent refuses.
            RemoteAnswerError: The answer is not JSON.
            httpx.HTTPError: There is no answer, or none but an HTTP status.
        """
        response = await self.http.send(request)
        return await made(len(response.content), self._read, response, make)

    async def stream(
        self, request: httpx.Request, make: Callable[[object], T]
    ) -> AsyncGenerator[T]:
        """Send a request and yield what is made of each event that answers it, or of the answer.

        Raises:
            As `fetch`.
        """
        request.headers["Accept"] = _EVENT_STREAM
        response = await self.http.send(request, stream=True)
        try:
            if response.status_code in _TOLD_BY_STATUS:
                response.raise_for_status()
            if not response.headers.get("content-type", "").startswith(_EVENT_STREAM):
                content = await response.aread()
                yield await made(len(content), self._read, response, make)
                return
            events = Events()
            async for chunk in response.aiter_raw():  # it is not compressed
                for data in events.ended_by(chunk):
                    yield await made(len(data), self._event, data, make)
        finally:
            await response.aclose()

    def _event(self, data: bytes, make: Callable[[object], T]) -> T:
        event = _parsed(data)
        if refusal := self.refusal(event):
            raise refusal
        return make(event)

    def _read(self, response: httpx.Response, make: Callable[[object], T]) -> T:
        """Read an answer's body, which tells more about an error than the HTTP status."""
        try:
            body = from_json(response.content)
        except ValueError as error:
            response.raise_for_status()
            raise RemoteAnswerError("the agent's answer is not JSON") from error
        refusal = self.refusal(body)
        if refusal is None or response.status_code in _TOLD_BY_STATUS:
            response.raise_for_status()
        if refusal is not None:
            raise refusal
        return make(body)


def _parsed(data: bytes) -> object:
    try:
        return from_json(data)
    except ValueError as error:
        raise RemoteAnswerError("an event of the agent's stream is not JSON") from error


def parsed(value: object, message: M) -> M:
    """Fill a message of the protocol with JSON; fields it does not know are left out.

    Raises:
        RemoteAnswerError: The JSON is not of this kind.
    """
    if not isinstance(value, dict):
        raise RemoteAnswerError("the agent's answer is not A2A: it is no JSON object")
    try:
        return ParseDict(value, message, ignore_unknown_fields=True)
    except ParseError as error:
        raise RemoteAnswerError(f"the agent's answer is not A2A: {quote(str(error))}") from error
