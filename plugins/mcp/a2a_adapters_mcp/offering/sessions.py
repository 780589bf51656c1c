"""Tracking and limits of open sessions."""

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
"""Time for which a used session is not closed in favour of another one."""


class TooManySessionsError(A2AAdaptersError):
    """The limit of sessions is reached and all are in use."""


class Session:
    """A session, open while its opening request or its server runs.

    Attributes:
        caller: The caller it counts for; "" counts for none.
        user: Starlette's user that owns it; None without authentication.
        id: Its id, "" until it is assigned.
    """

    def __init__(self, caller: str, user: object) -> None:
        self.caller = caller
        self.user = user
        self.id = ""
        self.requests = 0
        """Number of running requests, including streams."""
        self.used_at = -math.inf
        """End of its last request; -inf before the first."""


_opening: ContextVar[Session | None] = ContextVar("opening", default=None)


class CallerSessions:
    """The open sessions of all callers.

    Args:
        most: Maximum number of sessions.
        most_of_one: Maximum number of sessions per caller.
    """

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._open: dict[Session, None] = {}
        """In order of opening."""
        self._named: dict[str, Session] = {}

    def in_the_way(self, caller: str) -> Session | None:
        """Return the session to close before a caller opens another one, None if none.

        At the limit per caller it is the caller's own; otherwise any caller's. The session that
        was idle longest is chosen.

        Raises:
            TooManySessionsError: All candidates are in use.
        """
        own = [each for each in self._open if caller and each.caller == caller]
        if len(own) >= self._most_of_one:
            among, text = own, f"the limit per caller is {self._most_of_one}"
        elif len(self._open) >= self._most:
            among, text = list(self._open), f"the limit is {self._most}"
        else:
            return None
        idle_since = time.monotonic() - _IDLE_SECONDS
        idle = [s for s in among if s.id and not s.requests and s.used_at <= idle_since]
        if not idle:
            raise TooManySessionsError(f"Too many open sessions: {text}")
        return min(idle, key=lambda session: session.used_at)

    @contextmanager
    def opening(self, session: Session) -> Generator[None]:
        """Count a session during its opening request."""
        self._open[session] = None
        token = _opening.set(session)
        try:
            yield
        finally:
            _opening.reset(token)
            if not session.id:
                self.forget(session)

    def name(self, session: Session, session_id: str) -> None:
        """Set the id of a session."""
        session.id = session_id
        self._named[session_id] = session

    @contextmanager
    def using(self, session_id: str) -> Generator[None]:
        """Mark a session as in use by a request."""
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
        """Stop counting a session."""
        self._open.pop(session, None)
        self._named.pop(session.id, None)

    @asynccontextmanager
    async def lifespan(self, _server: object) -> AsyncGenerator[None]:
        """Count a session until its server, which runs in the opening request's context, ends."""
        session = _opening.get()
        try:
            yield
        finally:
            if session is not None:
                self.forget(session)
