"""JSON over HTTP: requests, and answers as JSON or as server-sent events."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic_core import from_json, to_json

from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.calling.failures import BUSY, UNAUTHORIZED
from a2a_adapters.calling.parsing import CURRENT
from a2a_adapters.concurrency.threads import computed_if_large

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    import httpx
    from a2a.client import ClientCallContext
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        SendMessageRequest,
        SendMessageResponse,
        StreamResponse,
        SubscribeToTaskRequest,
        Task,
    )

    from a2a_adapters.calling.errors import RemoteRefusedError

T = TypeVar("T")


_TOLD_BY_STATUS = UNAUTHORIZED | BUSY
"""What the HTTP status says better than the body: other credentials, or another time."""

_EVENT_STREAM = "text/event-stream"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_EXTENSIONS = "A2A-Extensions"


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
        return await computed_if_large(len(response.content), self._read, response, make)

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
                yield await computed_if_large(len(content), self._read, response, make)
                return
            events = Events()
            async for chunk in response.aiter_raw():  # it is not compressed
                for data in events.ended_by(chunk):
                    yield await computed_if_large(len(data), self._event, data, make)
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


class JsonTransport(ABC):
    """The operations that `RemoteAgent` needs, over a binding and version of A2A with JSON.

    It stands before a2a-sdk's transport in the bases of a class: that one has the others.

    Args:
        http: Sends the requests, and limits what comes back.
        card: The agent's card.
        url: The interface's address.
    """

    version: ClassVar = "1.0"
    _parsers: ClassVar = CURRENT

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url, is_shared_httpx=True)  # type: ignore[call-arg]
        self._json = JsonHttp(http, self._refusal)

    @abstractmethod
    def _refusal(self, body: object) -> RemoteRefusedError | None:
        """Return the error that an answer's body holds, None if it holds none."""

    @abstractmethod
    def _call(
        self, operation: str, message: Any, headers: dict[str, str], make: Callable[[Any], T]
    ) -> tuple[httpx.Request, Callable[[object], T]]:
        """Return the request for an operation, and what makes the result of its answer's JSON."""

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for the task or message that answers it."""
        return await self._fetch("SendMessage", request, context, self._parsers.sent)

    def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield the events of its task."""
        return self._stream("SendStreamingMessage", request, context)

    def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield a task and its events from now on."""
        return self._stream("SubscribeToTask", request, context)

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return a task."""
        return await self._fetch("GetTask", request, context, self._parsers.task)

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Cancel a task."""
        return await self._fetch("CancelTask", request, context, self._parsers.task)

    async def _fetch(
        self,
        operation: str,
        message: Any,
        context: ClientCallContext | None,
        make: Callable[[Any], T],
    ) -> T:
        return await self._json.fetch(*self._call(operation, message, self._headers(context), make))

    def _stream(
        self, operation: str, message: Any, context: ClientCallContext | None
    ) -> AsyncGenerator[StreamResponse]:
        return self._json.stream(
            *self._call(operation, message, self._headers(context), self._parsers.event)
        )

    def _headers(self, context: ClientCallContext | None) -> dict[str, str]:
        """Return the headers of a call; servers of 0.3 know extensions by another name as well."""
        headers = {"A2A-Version": self.version, **((context and context.service_parameters) or {})}
        if self.version == "0.3" and _EXTENSIONS in headers:
            headers[f"X-{_EXTENSIONS}"] = headers[_EXTENSIONS]
        return headers


async def event_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each event; comments, names and ids of events are left out."""
    events = Events()
    async for chunk in chunks:
        for data in events.ended_by(chunk):
            yield data


class Events:
    """Makes events of chunks."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._data: list[bytes] = []

    def ended_by(self, chunk: bytes) -> list[bytes]:
        """Return the data of the events that end in the next chunk."""
        ended = []
        for line in self._lines.ended_by(chunk):
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                ended.append(b"\n".join(self._data))
                self._data.clear()
        return ended


class _Lines:
    """Makes lines of chunks."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._is_first = True
        self._is_after_return = False  # then a \n belongs to the line end before it

    def ended_by(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in the next chunk."""
        text = chunk.removeprefix(b"\n") if self._is_after_return else chunk
        self._is_after_return = text.endswith(b"\r") if chunk else self._is_after_return
        lines = _LINE_END.split(text) if b"\r" in text else text.split(b"\n")
        self._rest.append(lines[0])
        if len(lines) == 1:
            return []
        lines[0] = b"".join(self._rest)
        if self._is_first:
            self._is_first = False
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        self._rest = [lines.pop()]
        return lines
