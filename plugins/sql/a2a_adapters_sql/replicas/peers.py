"""Calls to and from other processes."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from a2a.types import SendMessageRequest
from a2a.utils.errors import A2AError

from a2a_adapters.concurrency import in_background
from a2a_adapters.observability.failures import hidden
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.protocol.messages import new_uuid
from a2a_adapters.runtime.duplicates import is_recognizable
from a2a_adapters_sql.replicas.bus import BusMessage
from a2a_adapters_sql.replicas.calls import Call, Frame, error_head, error_of
from a2a_adapters_sql.replicas.window import Receipts, Window

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from typing import TypeAlias

    from google.protobuf.message import Message as Proto

    from a2a_adapters_sql.replicas.locations import Directory

    Serve: TypeAlias = Callable[[Call], AsyncGenerator[bytes]]

_CHECK_SECONDS = 1.0
"""Interval for checking a silent process, and for repeating an unacknowledged call."""

_ACKNOWLEDGE_SECONDS = 15.0
"""Time limit for a live process to acknowledge a call."""

_MAX_OUTAGE_CHECKS = 2
"""Successive checks with an unavailable bus before a call fails: 5 seconds in total, as the bus
detects failed deliveries within 3."""

_UNREACHABLE = "The process that runs the task cannot be reached; try again later"

_REMEMBERED = 1000
"""Number of finished calls remembered to ignore repeats."""

logger = logging.getLogger(__name__)


class PeerLostError(Exception):
    """Another process or part of its answer was lost.

    Args:
        was_heard: Whether it acknowledged the call.
    """

    def __init__(self, *, was_heard: bool) -> None:
        super().__init__("another process died")
        self.was_heard = was_heard


class Peers:
    """The other processes that serve one agent.

    Args:
        directory: Provides liveness, the bus, and the agent's name.
        serve: Performs received calls; yields the parts of the answer.
    """

    def __init__(self, directory: Directory, serve: Serve) -> None:
        self._bus = directory.bus
        self._agent = directory.agent
        self._directory = directory
        self._serve = serve
        self._asked: dict[str, asyncio.Queue[Frame]] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._served: dict[str, None] = {}
        self._windows: dict[str, Window] = {}
        self._sent_frames: dict[str, int] = {}
        """Unacknowledged parts of each running answer."""

    def start(self) -> None:
        """Start receiving calls and answers."""
        self._bus.listen(self._agent, self._receive, self._lose)

    async def ask(self, process: str, call: Call) -> bytes:
        """Return another process's answer.

        Raises:
            A2AError: The error returned by the process.
            PeerLostError: The process died, or its answer was lost.
            StorageUnavailableError: The process cannot be reached.
        """
        async with aclosing(self.read(process, call)) as parts:
            async for part in parts:
                return part
        raise PeerLostError(was_heard=True)

    async def read(self, process: str, call: Call) -> AsyncGenerator[bytes]:
        """Yield the parts of another process's answer.

        Raises:
            A2AError: The error returned by the process.
            PeerLostError: The process died, or a part of its answer was lost.
            StorageUnavailableError: The process cannot be reached.
        """
        call_id = new_uuid()
        inbox = self._asked[call_id] = asyncio.Queue()
        receipts, is_over = Receipts(), False
        try:
            async for frame in self._frames(process, call.frame(call_id), inbox):
                match frame.kind:
                    case "part":
                        yield frame.body
                        if receipts.is_due(frame.body):
                            taken = Frame("taken", call_id, frame.number)
                            in_background(self._send(process, taken))
                    case "end":
                        is_over = True
                        return
                    case "error":
                        is_over = True
                        raise error_of(frame.head)
        finally:
            del self._asked[call_id]
            if not is_over and self._bus.is_ready:  # otherwise it learns that with its next part
                in_background(self._send(process, Frame("stop", call_id)))

    async def _frames(
        self, process: str, call: Frame, inbox: asyncio.Queue[Frame]
    ) -> AsyncGenerator[Frame]:
        """Send a call and yield the frames of the answer, once each and in order."""
        number = silences = away = 0
        sending = in_background(self._send(process, call))
        try:
            while True:
                try:
                    async with asyncio.timeout(_CHECK_SECONDS):
                        frame = await inbox.get()
                except TimeoutError:
                    silences += 1
                    away = 0 if self._bus.is_ready else away + 1
                    is_unheard = not number and silences * _CHECK_SECONDS > _ACKNOWLEDGE_SECONDS
                    if away >= _MAX_OUTAGE_CHECKS or is_unheard:
                        raise StorageUnavailableError(_UNREACHABLE) from None
                    if not await self._directory.is_alive(process):
                        raise PeerLostError(was_heard=number > 0) from None
                    frame = None
                if not number and (frame is None or frame.kind == "lost"):
                    if sending.done():  # receivers detect repeats by id
                        sending = in_background(self._send(process, call))
                elif frame is not None and _follows(frame, number):
                    number += 1
                    yield frame
        finally:
            sending.cancel()

    async def _send(self, process: str, frame: Frame) -> None:
        await self._bus.send(BusMessage(process, self._agent, frame.to_bytes()))

    def _receive(self, message: BusMessage) -> None:
        frame = Frame.of(message.body)
        if frame.kind == "call":
            self._accept_call(message.process, frame)
        elif frame.kind == "stop":
            if (serving := self._serving.get(frame.call_id)) is not None:
                serving.cancel()
        elif frame.kind == "taken":
            if (window := self._windows.get(frame.call_id)) is not None:
                window.acknowledge(frame.number)
        elif (inbox := self._asked.get(frame.call_id)) is not None:
            inbox.put_nowait(frame)
        elif frame.kind == "part":  # its end was missed
            in_background(self._send(message.process, Frame("stop", frame.call_id)))

    def _lose(self) -> None:
        """Notify callers with partial answers that further parts may be lost.

        Acknowledgements of sent parts may be lost as well.
        """
        for window in self._windows.values():
            window.acknowledge()
        for call_id, inbox in self._asked.items():
            inbox.put_nowait(Frame("lost", call_id))

    def _accept_call(self, process: str, frame: Frame) -> None:
        call_id = frame.call_id
        if call_id in self._sent_frames:  # earlier frames arrive first
            in_background(
                self._send(process, Frame("heard", call_id, head=self._sent_frames[call_id]))
            )
            return
        self._sent_frames[call_id] = 0
        self._windows[call_id] = Window()
        answering = asyncio.create_task(self._answer(process, frame))
        self._serving[call_id] = answering
        answering.add_done_callback(lambda _: self._done(call_id))

    def _done(self, call_id: str) -> None:
        del self._serving[call_id], self._windows[call_id]
        self._served[call_id] = None
        if len(self._served) > _REMEMBERED:
            oldest = next(iter(self._served))
            del self._served[oldest], self._sent_frames[oldest]

    async def _answer(self, process: str, frame: Frame) -> None:
        call_id, window = frame.call_id, self._windows[frame.call_id]
        await self._send(process, Frame("heard", call_id))
        last = Frame("end", call_id)
        try:
            call = Call.from_frame(frame)
            async with aclosing(self._serve(call)) as parts:
                async for part in parts:
                    if not await self._has_room(process, window):
                        return
                    await self._send_answer(process, Frame("part", call_id, body=part))
        except asyncio.CancelledError:
            if (itself := asyncio.current_task()) is None or itself.cancelling():
                raise
            # The awaited work was cancelled, not this task.
            last = Frame("error", call_id, head=error_head(StorageUnavailableError()))
        except Exception as error:
            reported = error if isinstance(error, A2AError) else hidden(error, "a remote call")
            last = Frame("error", call_id, head=error_head(reported))
        await self._send_answer(process, last)

    async def _has_room(self, process: str, window: Window) -> bool:
        """Wait until a process has acknowledged enough of an answer; return whether it is alive."""
        while True:
            try:
                async with asyncio.timeout(_CHECK_SECONDS):
                    await window.room()
            except TimeoutError:
                if not await self._directory.is_alive(process):
                    return False
            else:
                return True

    async def _send_answer(self, process: str, frame: Frame) -> None:
        """Send the next frame of an answer."""
        number = self._sent_frames[frame.call_id] = self._sent_frames[frame.call_id] + 1
        self._windows[frame.call_id].send(number, frame.body)  # before it can be acknowledged
        await self._send(process, replace(frame, number=number))

    async def aclose(self) -> None:
        """Cancel running answers."""
        for serving in self._serving.values():
            serving.cancel()
        if self._serving:
            await asyncio.wait(self._serving.values(), timeout=1)


def _follows(frame: Frame, number: int) -> bool:
    """Return whether a frame is the next of an answer; duplicates are not.

    Raises:
        PeerLostError: A frame in between was lost.
    """
    resent = frame.kind == "heard" and frame.number == number and frame.head
    if frame.kind == "lost" or frame.number > number or resent:
        raise PeerLostError(was_heard=True)
    return frame.number == number


def check_repeat(operation: str, params: Proto, owner: str, lost: PeerLostError) -> None:
    """Raise an error unless an operation that may have been executed can be repeated.

    Raises:
        StorageUnavailableError: The outcome is unknown.
    """
    may_repeat = operation in {"GetTask", "DeleteConfig"}
    if isinstance(params, SendMessageRequest):
        may_repeat = is_recognizable(params.message.message_id, owner)
    if lost.was_heard and not may_repeat:
        raise StorageUnavailableError from lost
