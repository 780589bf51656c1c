"""How many sessions each caller has open."""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from a2a_adapters import A2AAdaptersError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator


class TooManySessionsError(A2AAdaptersError):
    """A caller has as many sessions open as one caller may have."""


class _Session:
    """Is counted as long as anybody is inside: the request that opens it, and then its server."""

    def __init__(self, owner: str, counts: Counter[str]) -> None:
        self._owner = owner
        self._counts = counts
        self._inside = 0

    def __enter__(self) -> None:
        if not self._inside:
            self._counts[self._owner] += 1
        self._inside += 1

    def __exit__(self, *_: object) -> None:
        self._inside -= 1
        if not self._inside:
            self._counts[self._owner] -= 1
            if not self._counts[self._owner]:
                del self._counts[self._owner]


_opening: ContextVar[_Session | None] = ContextVar("opening", default=None)


class CallerSessions:
    """Bounds the sessions of each caller.

    Args:
        limit: How many sessions one caller may have open.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._counts: Counter[str] = Counter()

    @contextmanager
    def opening(self, owner: str) -> Generator[None]:
        """Count the session that a request opens; not for callers without a name.

        Raises:
            TooManySessionsError: The caller may open no more.
        """
        if not owner:  # nobody knows which of these are one
            yield
            return
        if self._counts[owner] >= self._limit:
            raise TooManySessionsError(f"Too many open sessions: a caller may have {self._limit}")
        session = _Session(owner, self._counts)
        with session:
            before = _opening.set(session)
            try:
                yield
            finally:
                _opening.reset(before)

    @asynccontextmanager
    async def lifespan(self, _server: object) -> AsyncGenerator[None]:
        """Count a session until its server ends: it runs in the context of who has opened it."""
        session = _opening.get()
        if session is None:
            yield
            return
        with session:
            yield
