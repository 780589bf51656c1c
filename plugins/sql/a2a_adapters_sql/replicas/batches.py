"""Letters in numbered batches, cut into payloads: what the buses over any carrier do alike."""

from __future__ import annotations

import asyncio
import json
import logging
from abc import abstractmethod
from base64 import b64decode, b64encode
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters_sql.replicas.bus import Bus, Letter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

BEAT_SECONDS = 2.0
"""How often a connection that hears nothing is looked after."""

ANSWER_SECONDS = 2.0
"""How long the carrier may take, and more for what is large."""

_BYTES_PER_SECOND = 1024 * 1024
"""What it takes at least."""

_BATCH_BYTES = 1024 * 1024
"""About how much is sent at once."""

_HEAD_BYTES = 100
"""What is before each piece of a batch, at most."""

_PAUSE_SECONDS = 0.5

logger = logging.getLogger(__name__)

Payload: TypeAlias = tuple[str, str]
"""To which process, and what: ASCII."""

Deliver: TypeAlias = "Callable[[Sequence[Payload], float], Awaitable[object]]"
"""Hands payloads to the carrier, in so many seconds at most."""


class _Listener(NamedTuple):
    receive: Callable[[Letter], None]
    on_loss: Callable[[], None]


class _Parts:
    """What came of one process: the number of its last batch, and the beginning of the next."""

    __slots__ = ("begun", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.begun: list[str] = []


class BatchBus(Bus):
    """Sends what waits in batches.

    A batch is JSON, cut into pieces of what a payload may hold; they are numbered for each
    receiver, so that it notices a loss and drops what comes twice. What is large takes several
    deliveries.

    Args:
        process_id: This process.

    Attributes:
        name: What a message calls it; nothing secret.
        advice: What a message adds where it delivers nothing.
        connections: How many of the database's it uses.
    """

    name: str
    advice = ""
    connections = 0

    _payload_bytes: ClassVar[int]
    """How much the carrier takes as one."""
    _failures: ClassVar[tuple[type[Exception], ...]]
    """What it raises when it is away."""

    def __init__(self, process_id: str) -> None:
        self._process_id = process_id
        self._listeners: dict[str, _Listener] = {}
        self._waiting: dict[asyncio.Future[None], Letter] = {}
        self._unsure: dict[asyncio.Future[None], Letter] = {}
        self._wake = asyncio.Event()
        self._sent: Counter[str] = Counter()
        self._heard: dict[str, _Parts] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._is_listening = asyncio.Event()
        self._is_sending = False

    @property
    def is_ready(self) -> bool:
        """Whether it listens, and can send."""
        return self._is_listening.is_set() and self._is_sending

    def listen(
        self, agent: str, receive: Callable[[Letter], None], on_loss: Callable[[], None]
    ) -> None:
        """Have the letters about an agent received from now on."""
        self._listeners[agent] = _Listener(receive, on_loss)

    async def start(self) -> None:
        """Connect, and listen."""
        for work in (self._listen_while_connected, self._send_while_connected):
            self._workers.append(asyncio.create_task(self._again_and_again(work)))
        await self._is_listening.wait()

    async def aclose(self) -> None:
        """Stop."""
        for worker in self._workers:
            worker.cancel()
        if self._workers:
            await asyncio.wait(self._workers, timeout=1)
        for sent in [*self._unsure, *self._waiting]:
            sent.cancel()

    async def send(self, letter: Letter) -> None:
        """Send a letter; return when it is on its way."""
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[sent] = letter
        self._wake.set()
        try:
            await sent
        finally:
            self._waiting.pop(sent, None)  # its sender may have given up

    @abstractmethod
    async def _listen(self) -> None:
        """Connect and hear what comes, until the connection is lost; say `_begin` first."""

    @abstractmethod
    async def _send(self) -> None:
        """Connect and `_send_by` that, until the connection is lost."""

    async def _again_and_again(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                try:
                    await work()
                finally:
                    end_if_cancelled()
            except self._failures as error:
                logger.warning("the bus has lost its connection: %s", type(error).__name__)
            except Exception:  # without it nobody is reached any more
                logger.exception("the bus has failed, and begins again")
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
        """Note that it listens from now on."""
        for parts in self._heard.values():
            parts.begun = []
        self._tell_of_loss()  # meanwhile nobody has listened
        self._is_listening.set()

    def _hear(self, payload: str) -> None:
        try:
            self._take(payload)
        except Exception:  # the next one may be right
            logger.exception("the bus dropped what it could not take")
            self._tell_of_loss()

    def _take(self, payload: str) -> None:
        """Take one piece of a batch."""
        sender, number, index, left, piece = payload.split(" ", 4)
        parts = self._heard.get(sender)
        if parts is None:
            parts = self._heard[sender] = _Parts(int(number) - 1)
        if int(number) <= parts.number:
            return
        if int(number) > parts.number + 1:
            self._lose(parts, int(number) - 1)
        if index == "0":
            parts.begun = []  # what has come of it is sent again
        elif int(index) != len(parts.begun):
            self._lose(parts, int(number))
            return
        parts.begun.append(piece)
        if left != "0":
            return
        batch, parts.begun, parts.number = "".join(parts.begun), [], int(number)
        for agent, body in json.loads(batch):
            if (listener := self._listeners.get(agent)) is not None:
                listener.receive(Letter(sender, agent, b64decode(body)))

    def _lose(self, parts: _Parts, number: int) -> None:
        parts.begun, parts.number = [], number
        self._tell_of_loss()

    def _tell_of_loss(self) -> None:
        for listener in self._listeners.values():
            listener.on_loss()

    async def _send_by(self, deliver: Deliver) -> None:
        """Send what waits, and what will."""
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

    def _next_batch(self) -> dict[asyncio.Future[None], Letter]:
        """Return what is sent next; what nobody waits for any more is dropped."""
        if any(not sent.done() for sent in self._unsure):
            return self._unsure  # it may have arrived, and is sent again as it was
        self._sent.update({letter.process for letter in self._unsure.values()})  # seen as a loss
        size = 0
        batch: dict[asyncio.Future[None], Letter] = {}
        while self._waiting and size <= _BATCH_BYTES:
            sent = next(iter(self._waiting))
            letter = self._waiting.pop(sent)
            if not sent.done():
                size += len(letter.body)
                batch[sent] = letter
        return batch

    async def _deliver(self, letters: list[Letter], deliver: Deliver) -> None:
        """Send letters; if that fails they are sent again, under the same numbers."""
        bodies: dict[str, list[tuple[str, str]]] = {}
        for letter in letters:
            entry = (letter.agent, b64encode(letter.body).decode())
            bodies.setdefault(letter.process, []).append(entry)
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
        """Cut a batch into what a payload may hold, with its place before each piece."""
        size = self._payload_bytes - _HEAD_BYTES
        pieces = [batch[start : start + size] for start in range(0, len(batch), size)]
        head = f"{self._process_id} {self._sent[process] + 1}"
        for index, piece in enumerate(pieces):
            yield f"{head} {index} {len(pieces) - 1 - index} {piece}"
