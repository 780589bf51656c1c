"""A page that several processes write at the same time, and none of them loses anything by it.

What one process wants to change at once goes into one write. That compares and swaps: who comes too
late reads again, and decides again. Nobody holds a lock, and a process that dies holds nobody up.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias
from uuid import uuid4

from a2a_adapters_router.page import Amount, Held, Page, add

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from a2a_adapters import StateStorage

logger = logging.getLogger(__name__)

_PAUSE, _LONGEST_PAUSE = 0.002, 0.2
"""Seconds before another try, at most: doubled each time."""


class Place(Protocol):
    """Where a page is kept."""

    is_durable: bool

    async def read(self) -> bytes | None:
        """Return the page."""

    async def swap(self, expected: bytes | None, body: bytes) -> bool:
        """Replace the page, unless it has changed; tell whether that was done."""


class Here:
    """In this process."""

    is_durable = False

    def __init__(self) -> None:
        self._body: bytes | None = None

    async def read(self) -> bytes | None:
        """Return the page."""
        return self._body

    async def swap(self, expected: bytes | None, body: bytes) -> bool:
        """Replace the page, unless it has changed; tell whether that was done."""
        if self._body != expected:
            return False
        self._body = body
        return True


class Stored:
    """In a server's storage.

    Args:
        storage: The storage.
        kind: Under which name.
    """

    is_durable = True

    def __init__(self, storage: StateStorage, kind: str) -> None:
        self._storage = storage
        self._kind = kind

    async def read(self) -> bytes | None:
        """Return the page."""
        return await self._storage.read_state("", "", self._kind)

    async def swap(self, expected: bytes | None, body: bytes) -> bool:
        """Replace the page, unless it has changed; tell whether that was done."""
        return await self._storage.swap_state("", "", self._kind, expected, body)


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """What one call may use at worst, and under which keys: none if nothing limits it."""

    keys: Sequence[str]
    amount: Amount


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call may not be made.

    Attributes:
        wait: For how many seconds its deployment is left alone; 0 if too little is left for it.
        short: The quotas that have too little left, in words, and when they begin anew; none if
            it is the caller's own budget.
    """

    wait: float = 0.0
    short: Sequence[tuple[str, datetime]] = ()


Answer: TypeAlias = "Hold | Refusal | None"
Decide: TypeAlias = "Callable[[Page], Answer]"
Said: TypeAlias = "Answer | Exception"
Change: TypeAlias = "Callable[[Page], None]"


class Book:
    """Keeps one page.

    Args:
        place: Where it is kept.
        lease_seconds: How long what this process holds is held after it has died.

    Attributes:
        page: As it was when this process last saw it.
    """

    def __init__(self, place: Place, lease_seconds: float) -> None:
        self.page = Page()
        self._place = place
        self._lease = lease_seconds
        self._process = uuid4().hex
        self._writes = 0
        self._body: bytes | None = None
        self._is_known = False
        self._open: dict[Hold, None] = {}
        """What this process holds: what is stored of that follows."""
        self._due: list[Change] = []
        """What has happened and is not stored yet."""
        self._asked: list[tuple[Decide, asyncio.Future[Answer]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._renewal: asyncio.TimerHandle | None = None

    async def hold(self, decide: Decide) -> Answer:
        """Hold what `decide` says, by the page as it is for all processes.

        It may be asked several times; what it said last counts.
        """
        answer = self._ask(decide)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            answer.add_done_callback(self._take_back)
            raise

    def _take_back(self, answer: asyncio.Future[Answer]) -> None:
        if not answer.cancelled() and not answer.exception() and isinstance(answer.result(), Hold):
            self.let_go(answer.result())

    def let_go(self, hold: Answer, used: Amount | None = None) -> None:
        """Hold something no longer, and note what was used; `written` waits until it is stored."""
        if isinstance(hold, Hold) and hold in self._open:
            del self._open[hold]
            self.change(lambda page: page.use(hold.keys, used) if used else None)

    def change(self, change: Change) -> None:
        """Have something changed; `written` waits until it is stored."""
        self._due.append(change)
        self._wake()

    async def written(self) -> None:
        """Wait until everything up to now is stored, and what others have stored is known."""
        await asyncio.shield(self._ask(lambda _: None))

    async def aclose(self) -> None:
        """Wait until everything is stored."""
        if self._renewal:
            self._renewal.cancel()
        while self._writer is not None:
            await self._writer

    def _ask(self, decide: Decide) -> asyncio.Future[Answer]:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked.append((decide, answer))
        self._wake()
        return answer

    def _wake(self) -> None:
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all())

    async def _write_all(self) -> None:
        try:
            while True:
                is_well = await self._write()
                if not self._asked and not (is_well and self._due):
                    return
        finally:
            self._writer = None
            for _, answer in self._asked:
                answer.cancel()
            self._renew_later()

    async def _write(self) -> bool:
        """Store what there is to store and answer those who ask; tell whether that went well."""
        asked, self._asked = self._asked, []
        try:
            said = await self._written([decide for decide, _ in asked])
        except asyncio.CancelledError:
            self._asked = asked + self._asked
            raise
        except Exception as error:
            name = type(error).__name__
            logger.error("spending cannot be stored: %s", name)  # noqa: TRY400 - no traceback
            for _, answer in asked:
                _tell(answer, error)
            return False
        for (_, answer), each in zip(asked, said, strict=True):
            _tell(answer, each)
        return True

    async def _written(self, asked: Sequence[Decide]) -> Sequence[Said]:
        """Store what is due, and return what is said to those who ask."""
        pause = _PAUSE
        while True:
            is_new = not self._is_known
            if is_new:
                self._body, self._is_known = await self._place.read(), True
            due = self._due[:]
            page, said, is_changed = self._next(due, asked)
            if not is_changed and is_new:
                self.page = page
                return said
            if is_changed and await self._swap(page):
                del self._due[: len(due)]
                self._open |= {each: None for each in said if isinstance(each, Hold) and each.keys}
                return said
            self._is_known = False  # nothing is refused by what is no longer true
            if is_changed:
                await asyncio.sleep(random.uniform(0, pause))  # noqa: S311
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _next(
        self, due: Sequence[Change], asked: Sequence[Decide]
    ) -> tuple[Page, list[Said], bool]:
        """Return the page as it is to be, what is said by it, and whether it has to be stored."""
        now = time.time()
        page = Page.of(self._body, now)
        stored = page.held.pop(self._process, None)
        mine = Held(until=now + self._lease, seconds=self._lease)
        for hold in self._open:
            add(mine.amounts, hold.keys, hold.amount)
        is_old = stored is not None and stored.left(now) < self._lease / 2
        is_changed = bool(due) or is_old or mine.amounts != (stored.amounts if stored else {})
        for change in due:
            change(page)
        page.held[self._process] = mine
        said = []
        for decide in asked:
            said.append(answer := _said(decide, page))
            if isinstance(answer, Hold) and answer.keys:
                add(mine.amounts, answer.keys, answer.amount)
                is_changed = True
        if not mine.amounts:
            del page.held[self._process]
        return page, said, is_changed

    async def _swap(self, page: Page) -> bool:
        self._writes += 1
        page.version = f"{self._process}-{self._writes}"
        body = page.model_dump_json().encode()
        try:
            is_stored = await self._place.swap(self._body, body)
        except BaseException:
            self._is_known = False
            raise
        if is_stored:
            self._body, self.page = body, page
        return is_stored

    def _renew_later(self) -> None:
        """Say in time that this process lives, as long as it holds something."""
        if self._renewal:
            self._renewal.cancel()
        if self._place.is_durable and (self._open or self._due):
            loop = asyncio.get_running_loop()
            self._renewal = loop.call_later(self._lease / 3, self._wake)


def _said(decide: Decide, page: Page) -> Said:
    """Return what one of those who ask is told: what is wrong with it is nobody else's."""
    try:
        return decide(page)
    except Exception as error:
        return error


def _tell(answer: asyncio.Future[Answer], said: Said) -> None:
    if isinstance(said, Exception):
        answer.set_exception(said)
        answer.exception()  # who asked may have left
    else:
        answer.set_result(said)
