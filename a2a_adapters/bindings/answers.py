"""HTTP answers that may be large: encoded off the event loop, shared, sent in slices."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

from a2a.types import Task
from starlette.responses import Response

from a2a_adapters.concurrency.threads import LARGE_BYTES, computed
from a2a_adapters.protocol.errors import ServerBusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from starlette.types import Receive, Scope, Send

_CACHED_BYTES = 32 * 1024 * 1024
SLICE_BYTES = 64 * 1024
"""Bytes passed to a connection at a time, since it buffers all that its client has not read."""


class Answers:
    """Makes the answers of one agent, and limits how many bytes of them are under way.

    A large task is encoded once for all its readers, as long as it does not change. Shared bytes
    count once.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._cache: OrderedDict[tuple[int, object], tuple[Task, bytes]] = OrderedDict()
        self._cached_bytes = 0
        self._held: Counter[int] = Counter()
        self._held_bytes = 0

    def check_room(self, size: int) -> None:
        """Refuse a large answer before it is made.

        Raises:
            ServerBusyError: Too much is under way.
        """
        if size and self._held_bytes and self._held_bytes + size > self._limit:
            raise ServerBusyError

    async def respond(
        self,
        encode: Callable[[Any], bytes],
        result: Any,
        media_type: str,
        head: bytes = b"",
        tail: bytes = b"",
    ) -> Response:
        """Return the answer to a call: head, JSON and tail.

        Args:
            encode: Makes JSON of the result, which must not change any more.
            result: The result.
            media_type: The media type of the answer.
            head: Precedes the JSON.
            tail: Follows the JSON.

        Raises:
            ServerBusyError: Too much is under way to slow clients.
        """
        size = 0 if result is None else result.ByteSize()
        if size <= LARGE_BYTES:
            return Response(head + encode(result) + tail, media_type=media_type)
        if id(result) not in self._held and self._held_bytes + size > self._limit:
            raise ServerBusyError
        self.hold(result, size)  # while it waits for its turn
        try:
            body = await computed(self._encoded, encode, result)
        finally:
            self.release(result, size)
        return _LargeResponse(self, body, [head, body, tail], media_type)

    def _encoded(self, encode: Callable[[Any], bytes], result: Any) -> bytes:
        key = (id(result), encode)
        known = self._cache.get(key)
        if known is not None and known[0] is result:
            return known[1]
        body = encode(result)
        if isinstance(result, Task):
            self._keep(key, result, body)
        return body

    def _keep(self, key: tuple[int, object], task: Task, body: bytes) -> None:
        self._cache[key] = task, body
        self._cached_bytes += len(body)
        while self._cached_bytes > _CACHED_BYTES:
            _, (_, oldest) = self._cache.popitem(last=False)
            self._cached_bytes -= len(oldest)

    def hold(self, content: object, size: int) -> None:
        """Count an answer that is being made or sent."""
        self._held[id(content)] += 1
        if self._held[id(content)] == 1:
            self._held_bytes += size

    def release(self, content: object, size: int) -> None:
        """Undo `hold`."""
        self._held[id(content)] -= 1
        if not self._held[id(content)]:
            del self._held[id(content)]
            self._held_bytes -= size


class _LargeResponse(Response):
    """Sends shared pieces without copying the whole."""

    def __init__(
        self, answers: Answers, body: bytes, pieces: Sequence[bytes], media_type: str
    ) -> None:
        super().__init__(media_type=media_type)
        self.headers["content-length"] = str(sum(map(len, pieces)))
        self._answers = answers
        self._body = body
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the answer (ASGI)."""
        start = {"status": self.status_code, "headers": self.raw_headers}
        self._answers.hold(self._body, len(self._body))
        try:
            await send({"type": "http.response.start", **start})
            for piece in slices(self._pieces):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._answers.release(self._body, len(self._body))


def slices(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the pieces in slices of at most `SLICE_BYTES`; small ones are joined."""
    small: list[bytes] = []
    size = 0
    for piece in pieces:
        if size + len(piece) > SLICE_BYTES and small:
            yield b"".join(small)
            small.clear()
            size = 0
        if len(piece) < SLICE_BYTES:
            small.append(piece)
            size += len(piece)
            continue
        for start in range(0, len(piece), SLICE_BYTES):
            yield piece[start : start + SLICE_BYTES]
    if small:
        yield b"".join(small)
