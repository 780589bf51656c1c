"""A page of accounts that several processes update concurrently without lost updates.

Each process batches its changes into one compare-and-swap write. A process whose write fails
reads the page and decides again. There are no locks, so dead processes block nothing.
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

    from a2a_adapters.plugin import StateStorage

logger = logging.getLogger(__name__)

_PAUSE, _LONGEST_PAUSE = 0.002, 0.2
"""Maximum seconds between attempts; the delay doubles each time."""


class PageStore(Protocol):
    """Holds a page."""

    is_durable: bool

    async def read(self) -> bytes | None:
        """Return the page."""

    async def swap(self, expected: bytes | None, body: bytes) -> bool:
        """Replace the page unless it has changed; return whether it was replaced."""


class InMemory:
    """Holds a page in memory."""

    is_durable = False

    def __init__(self) -> None:
        self._body: bytes | None = None

    async def read(self) -> bytes | None:
        """Return the page."""
        return self._body

    async def swap(self, expected: bytes | None, body: bytes) -> bool:
        """Replace the page unless it has changed; return whether it was replaced."""
        if self._body != expected:
            return False
        self._body = body
        return True


class InStorage:
    """Holds a page in a server's storage.

    Args:
        storage: The storage.
        kind: Name of the page.
    """

    is_durable = True

    def __init__(self, storage: StateStorage, kind: str) -> None:
        self._storage = storage
        self._kind = kind

    async def read(self) -> bytes | None:
        """Return the page."""
        return await self._storage.read_state("", "", self._kind)

    async def swap(self, expected: bytes | None, body: bytes) -> bool:
        """Replace the page unless it has changed; return whether it was replaced."""
        return await self._storage.swap_state("", "", self._kind, expected, body)


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """The maximum a call may use, and the keys to charge; no keys if nothing limits it."""

    keys: Sequence[str]
    amount: Amount


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a call is refused.

    Attributes:
        wait: Remaining cooldown of the deployment in seconds; 0 if a quota or budget is exhausted.
        short: The exhausted quotas in words, and when they reset; empty if the caller's own budget
            is exhausted.
    """

    wait: float = 0.0
    short: Sequence[tuple[str, datetime]] = ()


Answer: TypeAlias = "Hold | Refusal | None"
Decide: TypeAlias = "Callable[[Page], Answer]"
Result: TypeAlias = "Answer | Exception"
Change: TypeAlias = "Callable[[Page], None]"


class Book:
    """A shared page.

    Args:
        store: Holds the page.
        lease_seconds: Time in seconds until the holds of a dead process expire.

    Attributes:
        page: The page as last seen by this process.
    """

    def __init__(self, store: PageStore, lease_seconds: float) -> None:
        self.page = Page()
        self._store = store
        self._lease = lease_seconds
        self._process = uuid4().hex
        self._writes = 0
        self._body: bytes | None = None
        self._is_known = False
        self._open: dict[Hold, None] = {}
        """Holds of this process, stored with a delay."""
        self._due: list[Change] = []
        """Changes that are not stored yet."""
        self._asked: list[tuple[Decide, asyncio.Future[Answer]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._renewal: asyncio.TimerHandle | None = None

    async def hold(self, decide: Decide) -> Answer:
        """Decide on a hold by the current shared page, and store it.

        `decide` may be called repeatedly; its last result counts.
        """
        answer = self._ask(decide)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            answer.add_done_callback(self._take_back)
            raise

    def _take_back(self, answer: asyncio.Future[Answer]) -> None:
        if not answer.cancelled() and not answer.exception() and isinstance(answer.result(), Hold):
            self.release(answer.result())

    def release(self, hold: Answer, used: Amount | None = None) -> None:
        """Release a hold and record the usage; `written` waits until it is stored."""
        if isinstance(hold, Hold) and hold in self._open:
            del self._open[hold]
            self.change(lambda page: page.use(hold.keys, used) if used else None)

    def change(self, change: Change) -> None:
        """Apply a change; `written` waits until it is stored."""
        self._due.append(change)
        self._wake()

    async def written(self) -> None:
        """Wait until all changes so far are stored and those of other processes are read."""
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
        """Store pending changes and answer callers; return whether that succeeded."""
        asked, self._asked = self._asked, []
        try:
            result = await self._written([decide for decide, _ in asked])
        except asyncio.CancelledError:
            self._asked = asked + self._asked
            raise
        except Exception as error:
            name = type(error).__name__
            logger.error("cannot store spending: %s", name)  # noqa: TRY400 - no traceback
            for _, answer in asked:
                _resolve(answer, error)
            return False
        for (_, answer), each in zip(asked, result, strict=True):
            _resolve(answer, each)
        return True

    async def _written(self, asked: Sequence[Decide]) -> Sequence[Result]:
        """Store due changes, and return the answers to callers."""
        pause = _PAUSE
        while True:
            is_new = not self._is_known
            if is_new:
                self._body, self._is_known = await self._store.read(), True
            due = self._due[:]
            page, result, is_changed = self._next(due, asked)
            if not is_changed and is_new:
                self.page = page
                return result
            if is_changed and await self._swap(page):
                del self._due[: len(due)]
                self._open |= {
                    each: None for each in result if isinstance(each, Hold) and each.keys
                }
                return result
            self._is_known = False  # do not refuse calls based on outdated data
            if is_changed:
                await asyncio.sleep(random.uniform(0, pause))  # noqa: S311
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _next(
        self, due: Sequence[Change], asked: Sequence[Decide]
    ) -> tuple[Page, list[Result], bool]:
        """Return the next page, the answers, and whether the page must be stored."""
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
        result = []
        for decide in asked:
            result.append(answer := _result(decide, page))
            if isinstance(answer, Hold) and answer.keys:
                add(mine.amounts, answer.keys, answer.amount)
                is_changed = True
        if not mine.amounts:
            del page.held[self._process]
        return page, result, is_changed

    async def _swap(self, page: Page) -> bool:
        self._writes += 1
        page.version = f"{self._process}-{self._writes}"
        body = page.model_dump_json().encode()
        try:
            is_stored = await self._store.swap(self._body, body)
        except BaseException:
            self._is_known = False
            raise
        if is_stored:
            self._body, self.page = body, page
        return is_stored

    def _renew_later(self) -> None:
        """Schedule the renewal of this process's holds."""
        if self._renewal:
            self._renewal.cancel()
        if self._store.is_durable and (self._open or self._due):
            loop = asyncio.get_running_loop()
            self._renewal = loop.call_later(self._lease / 3, self._wake)


def _result(decide: Decide, page: Page) -> Result:
    """Return the answer to a caller, or its exception, which must not affect others."""
    try:
        return decide(page)
    except Exception as error:
        return error


def _resolve(answer: asyncio.Future[Answer], result: Result) -> None:
    if isinstance(result, Exception):
        answer.set_exception(result)
        answer.exception()  # the caller may have left
    else:
        answer.set_result(result)
