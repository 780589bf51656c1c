"""Sends JSON requests and reads their answers, as JSON or as server-sent events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import from_json, to_json

from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.calling.failures import BUSY, UNAUTHORIZED
from a2a_adapters.concurrency.threads import computed_if_large

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    import httpx

    from a2a_adapters.calling.errors import RemoteAgentError

T = TypeVar("T")


_DECIDED_BY_STATUS = UNAUTHORIZED | BUSY
"""HTTP statuses that say more than the error in the body."""

EVENT_STREAM = "text/event-stream"
LINE_STREAMS = (
    *("application/x-ndjson", "application/ndjson", "application/jsonl"),
    *("application/x-jsonl", "application/json-lines", "application/jsonlines"),
    *("application/x-jsonlines", "text/x-ndjson"),
)
"""Media types of streams with one JSON value per line."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class JsonHttp:
    """Performs the HTTP calls of one binding.

    Attributes:
        http: The client, which limits the size of answers.
        refusal: Returns the error that an answer's body contains, or None.
    """

    http: httpx.AsyncClient
    refusal: Callable[[object], RemoteAgentError | None]

    def request(
        self,
        method: str,
        url: str | httpx.URL,
        headers: dict[str, str],
        body: dict[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> httpx.Request:
        """Build a request with a JSON body."""
        content = None
        if body is not None:
            content = to_json(body)
            headers = {**headers, "Content-Type": "application/json"}
        return self.http.build_request(
            method, url, content=content, params=query or None, headers=headers
        )

    async def fetch(self, request: httpx.Request, make: Callable[[object], T]) -> T:
        """Send a request and convert the JSON of its answer by `make`.

        Raises:
            RemoteRefusedError: The agent refused the call.
            RemoteAnswerError: The answer is not JSON.
            httpx.HTTPError: There is no answer, or only an HTTP status.
        """
        response = await self.http.send(request)
        return await computed_if_large(len(response.content), self._read, response, make)

    async def stream(
        self, request: httpx.Request, make: Callable[[object], T]
    ) -> AsyncGenerator[T]:
        """Send a request and convert each event of its answer by `make`; raises as `fetch` does.

        An answer that is not a stream counts as one event.
        """
        request.headers["Accept"] = EVENT_STREAM
        response = await self.http.send(request, stream=True)
        try:
            if response.status_code in _DECIDED_BY_STATUS:
                await response.aread()  # it may say why
                response.raise_for_status()
            events = await _reader(response)
            if events is None:
                size = len(response.content)
                yield await computed_if_large(size, self._read, response, make)
                return
            # Answers are not compressed. Those read already come in one piece.
            is_read = response.is_stream_consumed
            async for chunk in response.aiter_bytes() if is_read else response.aiter_raw():
                for data in events.ended_by(chunk):
                    yield await computed_if_large(len(data), self._event, data, make)
            for data in events.rest():
                if _is_json(data):  # not the beginning of an event that was cut off
                    yield await computed_if_large(len(data), self._event, data, make)
        finally:
            await response.aclose()

    def _event(self, data: bytes, make: Callable[[object], T]) -> T:
        event = _parsed(data)
        if refusal := self.refusal(event):
            raise refusal
        return make(event)

    def _read(self, response: httpx.Response, make: Callable[[object], T]) -> T:
        """Read an answer's body, which usually says more about an error than the HTTP status."""
        try:
            body = from_json(response.content)
        except ValueError as error:
            response.raise_for_status()
            raise RemoteAnswerError("the agent's answer is not JSON") from error
        refusal = self.refusal(body)
        if refusal is None or response.status_code in _DECIDED_BY_STATUS:
            response.raise_for_status()
        if refusal is not None:
            raise refusal
        return make(body)


async def _reader(response: httpx.Response) -> AnswerEvents | JsonLines | None:
    """Return the reader of a stream, even if it is declared as another type.

    Other responses are read completely.
    """
    media_type = response.headers.get("content-type", "")
    if media_type.startswith(LINE_STREAMS):
        return JsonLines()
    if media_type.startswith(EVENT_STREAM):
        return AnswerEvents()
    content = await response.aread()
    if content.startswith((b"data:", b"event:")):
        return AnswerEvents()
    first, _, rest = content.partition(b"\n")
    return JsonLines() if rest.lstrip().startswith(b"{") and _is_json(first) else None


def _is_json(data: bytes) -> bool:
    try:
        from_json(data)
    except ValueError:
        return False
    return True


def _parsed(data: bytes) -> object:
    try:
        return from_json(data)
    except ValueError as error:
        raise RemoteAnswerError("an event of the agent's stream is not JSON") from error


async def event_data(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the data of each server-sent event; comments, names and ids are dropped."""
    events = Events()
    async for chunk in chunks:
        for data in events.ended_by(chunk):
            yield data


class Events:
    """Splits chunks into server-sent events."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._data: list[bytes] = []
        self._name = b""

    def ended_by(self, chunk: bytes) -> list[bytes]:
        """Add a chunk and return the data of the events that it completes."""
        ended = []
        for line in self._lines.ended_by(chunk):
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line:
                if self._data and self._is_kept(data := b"\n".join(self._data), self._name):
                    ended.append(data)
                self._data.clear()
                self._name = b""
            elif line.startswith(b"event:"):
                self._name = line[6:].strip()
        return ended

    def rest(self) -> list[bytes]:
        """Return the data of a last event that lacks its empty line."""
        return self.ended_by(b"\n\n")

    def _is_kept(self, data: bytes, name: bytes) -> bool:  # noqa: ARG002 - for the subclass
        return True


_PINGS = frozenset({b"heartbeat", b"keep-alive", b"keepalive", b"ping"})
_END = b"[DONE]"


class AnswerEvents(Events):
    """Drops the events of a stream that are not part of an answer.

    These are pings, data of named events other than objects, and OpenAI's end of a stream.
    """

    def _is_kept(self, data: bytes, name: bytes) -> bool:
        if name in _PINGS:
            return False
        return data.startswith(b"{") or not (data in {b"", _END} or name not in {b"", b"message"})


class JsonLines:
    """Splits chunks into lines of JSON."""

    def __init__(self) -> None:
        self._lines = Lines()

    def ended_by(self, chunk: bytes) -> list[bytes]:
        """Add a chunk and return the lines that it completes."""
        return [line for line in self._lines.ended_by(chunk) if not line.isspace() and line]

    def rest(self) -> list[bytes]:
        """Return a last line that lacks its end."""
        return self.ended_by(b"\n")


class Lines:
    """Splits chunks into lines."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._is_first = True
        self._is_after_return = False  # a \n then belongs to the preceding \r

    def ended_by(self, chunk: bytes) -> list[bytes]:
        """Add a chunk and return the lines that it completes."""
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
