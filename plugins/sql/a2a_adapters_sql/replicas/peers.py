"""Calls of other processes, and those that come from them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from a2a.types import SendMessageRequest
from a2a.utils.errors import A2AError

from a2a_adapters.concurrency import in_background
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.protocol.messages import new_uuid
from a2a_adapters.runtime.admission import is_recognizable
from a2a_adapters.runtime.guard import hidden
from a2a_adapters_sql.replicas.bus import Letter
from a2a_adapters_sql.replicas.calls import Call, Frame, error_head, error_of
from a2a_adapters_sql.replicas.window import Taking, Window

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from typing import TypeAlias

    from google.protobuf.message import Message as Proto

    from a2a_adapters_sql.replicas.places import Places

    Serve: TypeAlias = Callable[[Call], AsyncGenerator[bytes]]

_LOOK_SECONDS = 1.0
"""How often a process that says nothing is looked after, and called again if it has never."""

_DEAF_SECONDS = 15.0
"""How long a process may live without hearing a call."""

_LOOKS_AWAY = 2
"""How many looks in succession find the bus away before a call fails: 5 seconds in all, as the bus
notices within 3 that what it sends does not arrive."""

_UNREACHABLE = "The process that works on the task cannot be reached now; try again later"

_REMEMBERED = 1000
"""How many calls that have ended are known, in case they come once more."""

logger = logging.getLogger(__name__)


class PeerLostError(Exception):
    """Another process, or what it answered, is lost.

    Args:
        was_heard: Whether it has heard the call.
    """

    def __init__(self, *, was_heard: bool) -> None:
        super().__init__("another process is gone")
        self.was_heard = was_heard


class Peers:
    """The other processes that serve one agent.

    Args:
        places: Knows which of them are alive, the bus between them, and the agent's name.
        serve: Does what they call for; yields the parts of the answer.
    """

    def __init__(self, places: Places, serve: Serve) -> None:
        self._bus = places.bus
        self._agent = places.agent
        self._places = places
        self._serve = serve
        self._asked: dict[str, asyncio.Queue[Frame]] = {}
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._served: dict[str, None] = {}
        self._windows: dict[str, Window] = {}
        self._told: dict[str, int] = {}
        """How much was sent of the answers to all of these."""

    def start(self) -> None:
        """Receive calls and answers from now on."""
        self._bus.listen(self._agent, self._receive, self._lose)

    async def ask(self, process: str, call: Call) -> bytes:
        """Return another process's answer.

        Raises:
            A2AError: It says so.
            PeerLostError: It is gone, or its answer.
            StorageUnavailableError: It cannot be reached.
        """
        async with aclosing(self.read(process, call)) as parts:
            async for part in parts:
                return part
        raise PeerLostError(was_heard=True)

    async def read(self, process: str, call: Call) -> AsyncGenerator[bytes]:
        """Yield the parts of another process's answer.

        Raises:
            A2AError: It says so.
            PeerLostError: It is gone, or a part of its answer.
            StorageUnavailableError: It cannot be reached.
        """
        call_id = new_uuid()
        inbox = self._asked[call_id] = asyncio.Queue()
        taking, is_over = Taking(), False
        try:
            async for frame in self._frames(process, call.frame(call_id), inbox):
                match frame.kind:
                    case "part":
                        yield frame.body
                        if taking.is_due(frame.body):
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
            if not is_over and self._bus.is_ready:  # else it hears that at the next part
                in_background(self._send(process, Frame("stop", call_id)))

    async def _frames(
        self, process: str, call: Frame, inbox: asyncio.Queue[Frame]
    ) -> AsyncGenerator[Frame]:
        """Call, and yield what is answered, each once and in order."""
        number = silences = away = 0
        sending = in_background(self._send(process, call))
        try:
            while True:
                try:
                    async with asyncio.timeout(_LOOK_SECONDS):
                        frame = await inbox.get()
                except TimeoutError:
                    silences += 1
                    away = 0 if self._bus.is_ready else away + 1
                    is_deaf = not number and silences * _LOOK_SECONDS > _DEAF_SECONDS
                    if away >= _LOOKS_AWAY or is_deaf:
                        raise StorageUnavailableError(_UNREACHABLE) from None
                    if not await self._places.is_alive(process):
                        raise PeerLostError(was_heard=number > 0) from None
                    frame = None
                if not number and (frame is None or frame.kind == "lost"):
                    if sending.done():  # who has heard it knows it by its id
                        sending = in_background(self._send(process, call))
                elif frame is not None and _follows(frame, number):
                    number += 1
                    yield frame
        finally:
            sending.cancel()

    async def _send(self, process: str, frame: Frame) -> None:
        await self._bus.send(Letter(process, self._agent, frame.to_bytes()))

    def _receive(self, letter: Letter) -> None:
        frame = Frame.of(letter.body)
        if frame.kind == "call":
            self._hear(letter.process, frame)
        elif frame.kind == "stop":
            if (serving := self._serving.get(frame.call_id)) is not None:
                serving.cancel()
        elif frame.kind == "taken":
            if (window := self._windows.get(frame.call_id)) is not None:
                window.take(frame.number)
        elif (inbox := self._asked.get(frame.call_id)) is not None:
            inbox.put_nowait(frame)
        elif frame.kind == "part":  # whose end was not heard of
            in_background(self._send(letter.process, Frame("stop", frame.call_id)))

    def _lose(self) -> None:
        """Let all who have heard a part of an answer know that more of it may be lost.

        So may be the word that others have taken what was sent.
        """
        for window in self._windows.values():
            window.take()
        for call_id, inbox in self._asked.items():
            inbox.put_nowait(Frame("lost", call_id))

    def _hear(self, process: str, frame: Frame) -> None:
        call_id = frame.call_id
        if call_id in self._told:  # what is on its way comes before this
            in_background(self._send(process, Frame("heard", call_id, head=self._told[call_id])))
            return
        self._told[call_id] = 0
        self._windows[call_id] = Window()
        answering = asyncio.create_task(self._answer(process, frame))
        self._serving[call_id] = answering
        answering.add_done_callback(lambda _: self._done(call_id))

    def _done(self, call_id: str) -> None:
        del self._serving[call_id], self._windows[call_id]
        self._served[call_id] = None
        if len(self._served) > _REMEMBERED:
            oldest = next(iter(self._served))
            del self._served[oldest], self._told[oldest]

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
                    await self._tell(process, Frame("part", call_id, body=part))
        except asyncio.CancelledError:
            if (itself := asyncio.current_task()) is None or itself.cancelling():
                raise
            # What it waited for was given up, not this.
            last = Frame("error", call_id, head=error_head(StorageUnavailableError()))
        except Exception as error:
            told = error if isinstance(error, A2AError) else hidden(error, "another's call")
            last = Frame("error", call_id, head=error_head(told))
        await self._tell(process, last)

    async def _has_room(self, process: str, window: Window) -> bool:
        """Wait until a process has taken enough of an answer; tell whether it lives."""
        while True:
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await window.room()
            except TimeoutError:
                if not await self._places.is_alive(process):
                    return False
            else:
                return True

    async def _tell(self, process: str, frame: Frame) -> None:
        """Send the next frame of an answer."""
        number = self._told[frame.call_id] = self._told[frame.call_id] + 1
        self._windows[frame.call_id].send(number, frame.body)  # before it can be taken
        await self._send(process, replace(frame, number=number))

    async def aclose(self) -> None:
        """Stop answering."""
        for serving in self._serving.values():
            serving.cancel()
        if self._serving:
            await asyncio.wait(self._serving.values(), timeout=1)


def _follows(frame: Frame, number: int) -> bool:
    """Return whether a frame is the next of an answer; one that has come before is not.

    Raises:
        PeerLostError: Something between them did not arrive.
    """
    resent = frame.kind == "heard" and frame.number == number and frame.head
    if frame.kind == "lost" or frame.number > number or resent:
        raise PeerLostError(was_heard=True)
    return frame.number == number


def check_repeat(operation: str, params: Proto, owner: str, lost: PeerLostError) -> None:
    """Refuse to repeat what may have been done, and cannot be done once more.

    Raises:
        StorageUnavailableError: Nobody knows what became of it.
    """
    may_repeat = operation in {"GetTask", "DeleteConfig"}
    if isinstance(params, SendMessageRequest):
        may_repeat = is_recognizable(params.message.message_id, owner)
    if lost.was_heard and not may_repeat:
        raise StorageUnavailableError from lost
