"""Numbered batches of messages, split into payloads; shared by all carriers of the bus."""

from __future__ import annotations

import asyncio
import json
import logging
from abc import abstractmethod
from base64 import b64decode, b64encode
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters_sql.replicas.bus import Bus, BusMessage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

BEAT_SECONDS = 2.0
"""Interval for probing an idle connection."""

ANSWER_SECONDS = 2.0
"""Time limit of a delivery, extended for large ones."""

_BYTES_PER_SECOND = 1024 * 1024
"""Assumed minimum throughput in bytes per second."""

_BATCH_BYTES = 1024 * 1024
"""Approximate size of a delivery in bytes."""

_HEAD_BYTES = 100
"""Maximum size of the header of a piece."""

_PAUSE_SECONDS = 0.5

logger = logging.getLogger(__name__)

Payload: TypeAlias = tuple[str, str]
"""The receiving process and the ASCII content."""

Deliver: TypeAlias = "Callable[[Sequence[Payload], float], Awaitable[object]]"
"""Hands payloads to the carrier within a number of seconds."""


class _Listener(NamedTuple):
    receive: Callable[[BusMessage], None]
    on_loss: Callable[[], None]


class _Parts:
    """Reception state of one sender: number of the last batch, and pieces of the next."""

    __slots__ = ("begun", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.begun: list[str] = []


class BatchBus(Bus):
    """Sends queued messages in batches.

    A batch is JSON, split into pieces of the carrier's payload size. Batches are numbered per
    receiver, which detects losses and drops duplicates. Large batches take several
    deliveries.

    Args:
        process_id: This process.

    Attributes:
        name: Name in messages, without secrets.
        advice: Advice for a bus that does not deliver.
        connections: Number of database connections it uses.
    """

    name: str
    advice = ""
    connections = 0

    _payload_bytes: ClassVar[int]
    """Maximum payload size in bytes."""
    _failures: ClassVar[tuple[type[Exception], ...]]
    """Exceptions raised during an outage."""

    def __init__(self, process_id: str) -> None:
        self._process_id = process_id
        self._listeners: dict[str, _Listener] = {}
        self._waiting: dict[asyncio.Future[None], BusMessage] = {}
        self._unsure: dict[asyncio.Future[None], BusMessage] = {}
        self._wake = asyncio.Event()
        self._sent: Counter[str] = Counter()
        self._heard: dict[str, _Parts] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._is_listening = asyncio.Event()
        self._is_sending = False

    @property
    def is_ready(self) -> bool:
        """Whether it is listening and able to send."""
        return self._is_listening.is_set() and self._is_sending

    def listen(
        self, agent: str, receive: Callable[[BusMessage], None], on_loss: Callable[[], None]
    ) -> None:
        """Subscribe to the messages about an agent."""
        self._listeners[agent] = _Listener(receive, on_loss)

    async def start(self) -> None:
        """Connect and listen."""
        for work in (self._listen_while_connected, self._send_while_connected):
            self._workers.append(asyncio.create_task(self._retry_forever(work)))
        await self._is_listening.wait()

    async def aclose(self) -> None:
        """Stop."""
        for worker in self._workers:
            worker.cancel()
        if self._workers:
            await asyncio.wait(self._workers, timeout=1)
        for sent in [*self._unsure, *self._waiting]:
            sent.cancel()

    async def send(self, message: BusMessage) -> None:
        """Send a message; return when the carrier has it."""
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[sent] = message
        self._wake.set()
        try:
            await sent
        finally:
            self._waiting.pop(sent, None)  # the sender may have given up

    @abstractmethod
    async def _listen(self) -> None:
        """Connect and receive until the connection is lost; call `_begin` first."""

    @abstractmethod
    async def _send(self) -> None:
        """Connect and run `_send_by` until the connection is lost."""

    async def _retry_forever(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                try:
                    await work()
                finally:
                    end_if_cancelled()
            except self._failures as error:
                logger.warning("the bus lost its connection: %s", type(error).__name__)
            except Exception:  # the process depends on it
                logger.exception("the bus failed and restarts")
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _listen_while_connected(self) -> None:
        try:
            await self._listen()
        finally:
            self._is_listening.clear()

    async def _send_while_connected(self) -> None:
        try:
            await self._send()
        finally:
            self._is_sending = False

    def _begin(self) -> None:
        """Note that listening has started."""
        for parts in self._heard.values():
            parts.begun = []
        self._report_loss()  # messages sent before were missed
        self._is_listening.set()

    def _hear(self, payload: str) -> None:
        try:
            self._take(payload)
        except Exception:  # the next one may be valid
            logger.exception("the bus dropped an invalid payload")
            self._report_loss()

    def _take(self, payload: str) -> None:
        """Process one piece of a batch."""
        sender, number, index, left, piece = payload.split(" ", 4)
        parts = self._heard.get(sender)
        if parts is None:
            parts = self._heard[sender] = _Parts(int(number) - 1)
        if int(number) <= parts.number:
            return
        if int(number) > parts.number + 1:
            self._lose(parts, int(number) - 1)
        if index == "0":
            parts.begun = []  # the pieces will be sent again
        elif int(index) != len(parts.begun):
            self._lose(parts, int(number))
            return
        parts.begun.append(piece)
        if left != "0":
            return
        batch, parts.begun, parts.number = "".join(parts.begun), [], int(number)
        for agent, body in json.loads(batch):
            if (listener := self._listeners.get(agent)) is not None:
                listener.receive(BusMessage(sender, agent, b64decode(body)))

    def _lose(self, parts: _Parts, number: int) -> None:
        parts.begun, parts.number = [], number
        self._report_loss()

    def _report_loss(self) -> None:
        for listener in self._listeners.values():
            listener.on_loss()

    async def _send_by(self, deliver: Deliver) -> None:
        """Send queued and future messages."""
        self._is_sending = True
        self._wake.set()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting or self._unsure:
                self._unsure = self._next_batch()
                await self._deliver(list(self._unsure.values()), deliver)
                for sent in self._unsure:
                    if not sent.done():
                        sent.set_result(None)
                self._unsure = {}
                end_if_cancelled()

    def _next_batch(self) -> dict[asyncio.Future[None], BusMessage]:
        """Return the next batch, without messages of senders that gave up."""
        if any(not sent.done() for sent in self._unsure):
            return self._unsure  # may have arrived; repeated unchanged
        self._sent.update(
            {message.process for message in self._unsure.values()}
        )  # receivers detect a loss
        size = 0
        batch: dict[asyncio.Future[None], BusMessage] = {}
        while self._waiting and size <= _BATCH_BYTES:
            sent = next(iter(self._waiting))
            message = self._waiting.pop(sent)
            if not sent.done():
                size += len(message.body)
                batch[sent] = message
        return batch

    async def _deliver(self, messages: list[BusMessage], deliver: Deliver) -> None:
        """Send messages; on failure they are repeated under the same numbers."""
        bodies: dict[str, list[tuple[str, str]]] = {}
        for message in messages:
            entry = (message.agent, b64encode(message.body).decode())
            bodies.setdefault(message.process, []).append(entry)
        payloads = [
            (process, payload)
            for process, entries in bodies.items()
            for payload in self._payloads(process, json.dumps(entries))
        ]
        at_once = max(1, _BATCH_BYTES // self._payload_bytes)
        for start in range(0, len(payloads), at_once):
            some = payloads[start : start + at_once]
            size = sum(len(payload) for _, payload in some)
            await deliver(some, ANSWER_SECONDS + size / _BYTES_PER_SECOND)
        self._sent.update(bodies.keys())

    def _payloads(self, process: str, batch: str) -> Iterator[str]:
        """Split a batch into payloads, each with a header that gives its position."""
        size = self._payload_bytes - _HEAD_BYTES
        pieces = [batch[start : start + size] for start in range(0, len(batch), size)]
        head = f"{self._process_id} {self._sent[process] + 1}"
        for index, piece in enumerate(pieces):
            yield f"{head} {index} {len(pieces) - 1 - index} {piece}"
