"""Assigns sessions to conversations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

from a2a_adapters.concurrency import Background, BoundedMap, PerLoop, shielded
from a2a_adapters.plugin import AgentFailedError
from a2a_adapters_acp.serving.session import Launch, Session

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_adapters.plugin import StateStorage
    from a2a_adapters_acp.serving.folders import Folders

Key: TypeAlias = tuple[str, str]
"""A conversation: its owner, and its contextId."""

_KIND = "acp-session"
_REMEMBERED = 10_000
_WAIT_SECONDS = 60.0
_TOO_MANY = "Too many of your conversations are being answered; finish or cancel one of them."


@dataclass(slots=True)
class _Slot:
    """A conversation's session, if it has one, with its users and waiters."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    session: Session | None = None
    mark: str = ""
    """The state that was stored at the end of its latest turn here."""
    idle_since: float = 0
    expiry: asyncio.TimerHandle | None = None

    @property
    def is_asking(self) -> bool:
        """Whether the session's turn is in progress; if it is unused, it waits for the caller."""
        return self.session is not None and self.session.is_prompted

    @property
    def is_replaceable(self) -> bool:
        """Whether an unused session can be ended without losing a question."""
        return self.session is not None and (self.session.can_load or not self.is_asking)


class Sessions:
    """One process for each active conversation, kept for the next message.

    Args:
        launch: The settings for starting agents.
        folders: The working folders.
        limit: The maximum number of processes.
        idle_seconds: Time to keep an unused process.
    """

    def __init__(self, launch: Launch, folders: Folders, limit: int, idle_seconds: float) -> None:
        self._launch = launch
        self._folders = folders
        self._idle_seconds = idle_seconds
        self._permits = PerLoop(partial(asyncio.Semaphore, limit))
        self._share = max(1, limit - limit // 2)
        self._waiting = 0
        self._first_start = PerLoop(asyncio.Lock)
        self._has_started = False
        self._slots: dict[Key, _Slot] = {}
        self._background = Background()
        self._storage: StateStorage | None = None
        self._ids: BoundedMap[Key, tuple[str, str]] = BoundedMap(_REMEMBERED)

    def store_in(self, storage: StateStorage) -> None:
        """Store session ids in a storage."""
        self._storage = storage

    def is_used(self, key: Key) -> bool:
        """Whether a conversation's session is in a turn or is being opened or closed."""
        slot = self._slots.get(key)
        return slot is not None and (slot.lock.locked() or slot.is_asking)

    def drop(self, key: Key, session: Session | None) -> None:
        """End a session that waits for an answer that will not come."""
        slot = self._slots.get(key)
        if slot is not None and slot.session is session and slot.is_asking:
            self._background.begin(self._retire(key, slot, session))

    @asynccontextmanager
    async def lease(self, key: Key, asking: Session | None = None) -> AsyncGenerator[Session]:
        """Lend a conversation's session to one run at a time; close it after a failure.

        Args:
            key: The conversation.
            asking: The session that asked the question. If it has ended, another one is lent.

        Raises:
            AgentFailedError: The agent cannot be started, or too many processes are running.
        """
        slot = self._slots.setdefault(key, _Slot())
        slot.users += 1
        try:
            await slot.lock.acquire()
        except BaseException:
            self._leave(key, slot)
            raise
        try:
            session = await self._session(key, slot, asking)
            yield session
            if session.is_open:
                await self._note(key, slot, session)
        except BaseException:
            # A run that is cancelled has less time than a process may take to end.
            self._background.begin(self._discard(key, slot))
            raise
        if (
            slot.session is not None
            and slot.session.is_open
            and not (self._waiting and slot.is_replaceable)
        ):
            self._keep(key, slot)
        else:
            self._background.begin(self._discard(key, slot))

    async def aclose(self) -> None:
        """End all processes."""
        slots = list(self._slots.items())
        await asyncio.gather(*(self._end(key, slot) for key, slot in slots))
        await self._background.wait()
        self._slots.clear()

    async def _session(self, key: Key, slot: _Slot, asking: Session | None) -> Session:
        if slot.expiry is not None:
            slot.expiry.cancel()
            slot.expiry = None
        mark, known = await self._read(key)
        if slot.session is not None:
            # Another process may have answered the conversation's messages meanwhile.
            is_free = slot.session is asking or not slot.is_asking
            if slot.session.is_open and slot.mark == mark and is_free:
                return slot.session
            await self._end(key, slot)
        await self._permit(key[0])
        slot.session = session = Session(self._launch)
        folder = await self._folders.open(*key)
        await self._open(session, folder, known)
        await self._note(key, slot, session)
        return session

    async def _open(self, session: Session, folder: Path, known: str) -> None:
        """Start an agent; the first one alone, because it may set up its home folder."""
        if not self._has_started:
            async with self._first_start():
                if not self._has_started:
                    await session.open(folder, known)
                    self._has_started = True
                    return
        await session.open(folder, known)

    async def _note(self, key: Key, slot: _Slot, session: Session) -> None:
        """Store the session's id, marked with this turn."""
        slot.mark = uuid4().hex
        if self._storage is None:
            self._ids[key] = slot.mark, session.id
        else:
            body = f"{slot.mark} {session.id}".encode()
            await self._storage.write_state(*key, _KIND, body)

    def _keep(self, key: Key, slot: _Slot) -> None:
        loop = asyncio.get_running_loop()
        slot.idle_since = loop.time()
        if not slot.is_asking:
            slot.expiry = loop.call_later(
                self._idle_seconds,
                lambda: self._background.begin(self._retire(key, slot, slot.session)),
            )
        slot.lock.release()
        self._leave(key, slot)

    def _leave(self, key: Key, slot: _Slot) -> None:
        slot.users -= 1
        if not slot.users and slot.session is None:
            self._slots.pop(key, None)

    async def _discard(self, key: Key, slot: _Slot) -> None:
        try:
            await self._end(key, slot)
        finally:
            slot.lock.release()
            self._leave(key, slot)

    async def _retire(self, key: Key, slot: _Slot, session: Session | None) -> None:
        """End a session that is idle or waits for its caller, unless it has been replaced."""
        slot.users += 1
        async with slot.lock:
            if slot.session is session:
                await self._end(key, slot)
        self._leave(key, slot)

    async def _end(self, key: Key, slot: _Slot) -> None:
        if slot.expiry is not None:
            slot.expiry.cancel()
            slot.expiry = None
        session, slot.session = slot.session, None
        if session is not None:
            try:
                await session.close()
                await self._folders.close(*key)
            finally:
                self._permits().release()

    async def _permit(self, owner: str) -> None:
        """Wait until one more process may run; end an idle one if needed.

        A named owner has at most half of the processes, so that it cannot block the others.

        Raises:
            AgentFailedError: All processes are busy for too long.
        """
        held = [each for each in self._slots.items() if each[1].session is not None]
        own = [each for each in held if each[0][0] == owner]
        if owner and len(own) >= self._share:
            if not await self._retire_oldest(own):
                raise AgentFailedError("limit", _TOO_MANY)
        elif self._permits().locked():
            await self._retire_oldest(held)
        self._waiting += 1
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                await self._permits().acquire()
        except TimeoutError as error:
            busy = "All coding agents are busy; please try again later."
            raise AgentFailedError("limit", busy) from error
        finally:
            self._waiting -= 1

    async def _retire_oldest(self, slots: Sequence[tuple[Key, _Slot]]) -> bool:
        """End the session that has been idle longest; return whether one was ended.

        Sessions that wait for their callers come last, and only if they can be loaded again.
        """
        idle = [each for each in slots if not each[1].lock.locked() and each[1].is_replaceable]
        if idle:
            key, slot = min(idle, key=lambda each: (each[1].is_asking, each[1].idle_since))
            await shielded(self._retire(key, slot, slot.session))
        return bool(idle)

    async def _read(self, key: Key) -> tuple[str, str]:
        """Return the latest turn's mark and the session's id, or ""."""
        if self._storage is None:
            return self._ids.get(key) or ("", "")
        stored = (await self._storage.read_state(*key, _KIND) or b"").decode()
        mark, _, session_id = stored.partition(" ")
        return mark, session_id
