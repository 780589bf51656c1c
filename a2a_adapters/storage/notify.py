"""The bus over PostgreSQL's LISTEN and NOTIFY: each process listens to a channel of its own."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64decode, b64encode
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from psycopg import sql

from a2a_adapters.storage.bus import Bus, Letter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from sqlalchemy.ext.asyncio import AsyncEngine

    _Connection: TypeAlias = psycopg.AsyncConnection[tuple[object, ...]]

_PAYLOAD_BYTES = 7900
"""PostgreSQL takes payloads of less than 8000."""

_BATCH_BYTES = 1024 * 1024
"""About how much is sent at once."""

_BEAT_SECONDS = 2.0
"""How often a connection that hears nothing is looked after."""

_ANSWER_SECONDS = 2.0
"""How long the database may take, and more for what is large."""

_BYTES_PER_SECOND = 1024 * 1024
"""What it takes at least."""

_STATEMENT_PIECES = _BATCH_BYTES // _PAYLOAD_BYTES
"""How many notifications one statement sends."""

_PAUSE_SECONDS = 0.5

_NOTIFY = (
    "SELECT pg_notify(channel, payload) "
    "FROM unnest(%s::text[], %s::text[]) AS sent(channel, payload)"
)

logger = logging.getLogger(__name__)


class _Listener(NamedTuple):
    receive: Callable[[Letter], None]
    on_loss: Callable[[], None]


class _Parts:
    """What came of one process: the number of its last batch, and the beginning of the next."""

    __slots__ = ("begun", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.begun: list[str] = []


class NotifyBus(Bus):
    """Sends what waits in batches.

    A batch is JSON, cut into pieces of what a notification may hold; they are numbered for each
    receiver, so that it notices a loss and drops what comes twice. What is large takes several
    statements.

    Args:
        engine: The database, for its address.
        process_id: This process.
    """

    def __init__(self, engine: AsyncEngine, process_id: str) -> None:
        self._engine = engine
        self._process_id = process_id
        self._listeners: dict[str, _Listener] = {}
        self._waiting: list[tuple[Letter, asyncio.Future[None]]] = []
        self._unsure: list[tuple[Letter, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()
        self._sent: Counter[str] = Counter()
        self._heard: dict[str, _Parts] = {}
        self._workers: list[asyncio.Task[None]] = []
        self._is_listening = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        """Whether it listens."""
        return self._is_listening.is_set()

    def listen(
        self, agent: str, receive: Callable[[Letter], None], on_loss: Callable[[], None]
    ) -> None:
        """Have the letters about an agent received from now on."""
        self._listeners[agent] = _Listener(receive, on_loss)

    async def start(self) -> None:
        """Connect, and listen."""
        for work in (self._listen, self._send):
            self._workers.append(asyncio.create_task(self._again_and_again(work)))
        await self._is_listening.wait()

    async def aclose(self) -> None:
        """Stop."""
        for worker in self._workers:
            worker.cancel()
        if self._workers:
            await asyncio.wait(self._workers, timeout=1)
        for _, sent in self._unsure + self._waiting:
            sent.cancel()

    async def send(self, letter: Letter) -> None:
        """Send a letter; return when it is on its way."""
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((letter, sent))
        self._wake.set()
        await sent

    async def _again_and_again(self, work: Callable[[_Connection], Awaitable[None]]) -> None:
        while True:
            try:
                async with asyncio.timeout(2 * _ANSWER_SECONDS):
                    connection = await self._connected()
                try:
                    await work(connection)
                finally:
                    await connection.close()
            except (psycopg.Error, OSError) as error:  # TimeoutError is one of the latter
                logger.warning("the bus has lost its connection: %s", type(error).__name__)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _connected(self) -> _Connection:
        _, options = self._engine.dialect.create_connect_args(self._engine.url)
        return await psycopg.AsyncConnection.connect(**options, autocommit=True)

    async def _listen(self, connection: _Connection) -> None:
        try:
            channel = sql.Identifier(self._process_id)
            await connection.execute(sql.SQL("LISTEN {}").format(channel))
            for parts in self._heard.values():
                parts.begun = []
            self._tell_of_loss()  # meanwhile nobody has listened
            self._is_listening.set()
            while True:
                async for notice in connection.notifies(timeout=_BEAT_SECONDS):
                    self._hear(notice.payload)
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await connection.execute("SELECT 1")
        finally:
            self._is_listening.clear()

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

    async def _send(self, connection: _Connection) -> None:
        # What is notified need not survive a crash of the database: nobody listens then.
        await connection.execute("SET synchronous_commit = off")
        self._wake.set()
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting or self._unsure:
                self._unsure = self._next_batch()
                await self._notify(connection, [letter for letter, _ in self._unsure])
                for _, sent in self._unsure:
                    if not sent.done():
                        sent.set_result(None)
                self._unsure = []

    def _next_batch(self) -> list[tuple[Letter, asyncio.Future[None]]]:
        """Return what is sent next; what nobody waits for any more is dropped."""
        if any(not sent.done() for _, sent in self._unsure):
            return self._unsure  # it may have arrived, and is sent again as it was
        self._sent.update({letter.process for letter, _ in self._unsure})  # noticed as a loss
        size = taken = 0
        batch: list[tuple[Letter, asyncio.Future[None]]] = []
        for letter, sent in self._waiting:
            if size > _BATCH_BYTES:
                break
            taken += 1
            if not sent.done():
                size += len(letter.body)
                batch.append((letter, sent))
        del self._waiting[:taken]
        return batch

    async def _notify(self, connection: _Connection, letters: list[Letter]) -> None:
        """Send letters; if that fails they are sent again, under the same numbers."""
        bodies: dict[str, list[tuple[str, str]]] = {}
        for letter in letters:
            entry = (letter.agent, b64encode(letter.body).decode())
            bodies.setdefault(letter.process, []).append(entry)
        channels, payloads = [], []
        for process, entries in bodies.items():
            pieces = _pieces(json.dumps(entries))
            head = f"{self._process_id} {self._sent[process] + 1}"
            for index, piece in enumerate(pieces):
                channels.append(process)
                payloads.append(f"{head} {index} {len(pieces) - 1 - index} {piece}")
        for start in range(0, len(channels), _STATEMENT_PIECES):
            end = start + _STATEMENT_PIECES
            size = sum(map(len, payloads[start:end]))
            async with asyncio.timeout(_ANSWER_SECONDS + size / _BYTES_PER_SECOND):
                await connection.execute(_NOTIFY, (channels[start:end], payloads[start:end]))
        self._sent.update(bodies.keys())


def _pieces(text: str) -> list[str]:
    """Cut ASCII into what a payload may hold, beside what is before it."""
    size = _PAYLOAD_BYTES - 100
    return [text[start : start + size] for start in range(0, len(text), size)]
