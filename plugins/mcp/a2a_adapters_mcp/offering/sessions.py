"""Which sessions are open, and which is closed to make room for another."""

from __future__ import annotations

import math
import time
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from a2a_adapters import A2AAdaptersError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

_IDLE_SECONDS = 60.0
"""How long a session that was used is not closed for another. One that was only opened may be."""


class TooManySessionsError(A2AAdaptersError):
    """A caller has as many sessions open as one caller may have, and uses them all."""


class Session:
    """One session: it is open while its opening request or its server runs.

    Attributes:
        caller: Whose share it takes; "" is nobody's.
        user: Who may use it, as Starlette has it; None without authentication.
        id: By what its client knows it, "" until that was told.
    """

    def __init__(self, caller: str, user: object) -> None:
        self.caller = caller
        self.user = user
        self.id = ""
        self.requests = 0
        """How many requests it is answering, streams of its client included."""
        self.used_at = -math.inf
        """When the last of them ended; never before its first use."""


_opening: ContextVar[Session | None] = ContextVar("opening", default=None)


class CallerSessions:
    """The open sessions of all callers.

    Args:
        most: How many there may be.
        most_of_one: How many of them one caller may have.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._open: dict[Session, None] = {}
        """In the order of their beginnings."""
        self._named: dict[str, Session] = {}

    def in_the_way(self, caller: str) -> Session | None:
        """Return the session to be closed before a caller opens one, None if there is room.

        It is the caller's own if these are as many as one may have; else anybody's, the one that
        was unused longest.

        Raises:
            TooManySessionsError: All of these are in use.
        """
        own = [each for each in self._open if caller and each.caller == caller]
        if len(own) >= self._most_of_one:
            among, text = own, f"a caller may have {self._most_of_one}"
        elif len(self._open) >= self._most:
            among, text = list(self._open), f"there may be {self._most}"
        else:
            return None
        idle_since = time.monotonic() - _IDLE_SECONDS
        idle = [s for s in among if s.id and not s.requests and s.used_at <= idle_since]
        if not idle:
            raise TooManySessionsError(f"Too many open sessions: {text}")
        return min(idle, key=lambda session: session.used_at)

    @contextmanager
    def opening(self, session: Session) -> Generator[None]:
        """Count the session that a request opens."""
        self._open[session] = None
        token = _opening.set(session)
        try:
            yield
        finally:
            _opening.reset(token)
            if not session.id:
                self.forget(session)

    def name(self, session: Session, session_id: str) -> None:
        """Note by what its client knows a session."""
        session.id = session_id
        self._named[session_id] = session

    @contextmanager
    def using(self, session_id: str) -> Generator[None]:
        """Note that a request uses a session."""
        session = self._named.get(session_id)
        if session is None:
            yield
            return
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.used_at = time.monotonic()

    def forget(self, session: Session) -> None:
        """Count a session no longer."""
        self._open.pop(session, None)
        self._named.pop(session.id, None)

    @asynccontextmanager
    async def lifespan(self, _server: object) -> AsyncGenerator[None]:
        """Count a session until its server ends: it runs in the context of who has opened it."""
        session = _opening.get()
        try:
            yield
        finally:
            if session is not None:
                self.forget(session)
