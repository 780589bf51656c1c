"""Server-sent events of one run."""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from a2a.utils.errors import A2AError
from starlette.responses import JSONResponse, Response

from a2a_adapters.dialects import one_line
from a2a_adapters_openai.errors import ApiError, api_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from a2a_adapters_openai.dialect_run import DialectRun

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

_HEARTBEAT_SECONDS = 15.0
_HEARTBEAT = b": keep-alive\n\n"


class OnLeave(Enum):
    """The effect on a run if its client leaves early."""

    CANCEL = auto()
    """The agent is stopped."""
    READ_ON = auto()
    """The agent continues, and its answer is read to the end."""
    CLOSE = auto()
    """The agent continues, but its answer is not read."""


class Shape(Protocol[T_contra]):
    """Converts the events of a run to those of one API."""

    def begin(self) -> bytes:
        """Return the first events, sent before the agent's first output."""

    def add(self, news: Sequence[T_contra]) -> bytes:
        """Return the events for new text and progress."""

    async def end(self) -> bytes:
        """Return the last events of an answer.

        Raises:
            ApiError: The task ended without one.
        """

    def fail(self, error: ApiError) -> bytes:
        """Return the last events of an answer that failed."""


class WholeShape(Protocol[T_contra]):
    """Builds an answer that is not streamed."""

    async def whole(self, progress: Sequence[T_contra]) -> dict[str, Any]:
        """Return the whole answer.

        Raises:
            ApiError: The task ended without one.
        """


async def whole_response(
    run: DialectRun[T], shape: WholeShape[T], request: Request, headers: Mapping[str, str]
) -> Response:
    """Wait for the end of a run and return its answer.

    Raises:
        ApiError: The task ended without an answer.
        A2AError: The answer ended early.
        ClientDisconnect: The client disconnected.
    """
    progress = await run.finished(request.receive)
    return JSONResponse(await shape.whole(progress), headers=headers)


class EventStream(Response, Generic[T]):
    """Streams a run; available events are sent in one write.

    Args:
        run: The run.
        shape: Converts the events.
        headers: Additional headers.
        on_leave: The effect on the run if the client leaves.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        run: DialectRun[T],
        shape: Shape[T],
        headers: Mapping[str, str],
        on_leave: OnLeave = OnLeave.CANCEL,
    ) -> None:
        own = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(headers={**own, **headers})
        del self.headers["content-length"]
        self._run = run
        self._shape = shape
        self._on_leave = on_leave
        self._sending: asyncio.Task[Any] | None = None
        self._is_closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the stream (ASGI)."""
        self._sending = asyncio.current_task()
        watcher = asyncio.create_task(self._watch(receive, send))
        try:
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            await _send(send, self._shape.begin())
            try:
                while news := await self._run.take():
                    await _send(send, self._shape.add(news))
                last = await self._shape.end()
            except ApiError as error:
                last = self._shape.fail(error)
            except A2AError as error:
                last = self._shape.fail(api_error(error))
            await send({"type": "http.response.body", "body": last, "more_body": False})
        except asyncio.CancelledError:
            if not self._is_closed or self._sending is None:
                raise
            self._sending.uncancel()
        finally:
            if not self._run.is_left:  # else it is stopping the agent
                watcher.cancel()
            await self._run.aclose()

    async def _watch(self, receive: Receive, send: Send) -> None:
        """React if the client leaves; keep silent connections open."""
        while True:
            try:
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
                    while (await receive())["type"] != "http.disconnect":
                        pass
            except TimeoutError:
                await _send(send, _HEARTBEAT)
            else:
                if self._on_leave is OnLeave.CANCEL:
                    await self._run.leave()
                elif self._on_leave is OnLeave.CLOSE and self._sending is not None:
                    self._is_closed = True
                    self._sending.cancel()
                return


async def _send(send: Send, body: bytes) -> None:
    if body:
        await send({"type": "http.response.body", "body": body, "more_body": True})


def data(value: object) -> bytes:
    """Return a server-sent event without a name."""
    return b"data: " + one_line(value) + b"\n\n"
