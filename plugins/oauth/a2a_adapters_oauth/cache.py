"""Keeps tokens until they expire, and requests each of them once."""

from __future__ import annotations

import asyncio
import time
from contextvars import Context
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from a2a_adapters import RemoteAuthError, RemoteConnectionError
from a2a_adapters.calling.errors import RemoteAgentError
from a2a_adapters.calling.failures import NotBegunError
from a2a_adapters.concurrency import BoundedMap
from a2a_adapters_oauth.endpoints import OAuthError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

    from a2a_adapters_oauth.endpoints import Token

_TOKENS = 1_000
_EARLY_SECONDS = 30.0
"""Tokens are renewed this long before their expiry, or a tenth of their lifetime if less."""


@dataclass(frozen=True, slots=True)
class _Held:
    token: str = field(repr=False)
    ends_at: float | None

    @property
    def is_usable(self) -> bool:
        return self.ends_at is None or time.monotonic() < self.ends_at


class TokenCache:
    """Tokens by key; those requested least recently are dropped. It may be shared by threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: BoundedMap[Hashable, _Held] = BoundedMap(_TOKENS)
        self._fetching: dict[tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Task[str]] = {}

    async def get(self, key: Hashable, refused: str, fetch: Callable[[], Awaitable[Token]]) -> str:
        """Return a token other than the one that the agent refused.

        Concurrent callers in an event loop share one request, which continues if they are
        cancelled.

        Raises:
            RemoteAgentError: There is no token; the error is not shared with other callers.
        """
        with self._lock:
            held = self._held.get(key)
        if held is not None and held.is_usable and held.token != refused:
            return held.token
        place = (asyncio.get_running_loop(), key)
        if (task := self._fetching.get(place)) is None:
            # In an empty context: the request is not part of one caller's call.
            task = place[0].create_task(self._fetch(key, fetch), context=Context())
            self._fetching[place] = task
            task.add_done_callback(lambda done: self._end(place, done))
        try:
            return await asyncio.shield(task)
        except RemoteAgentError as error:
            raise _own(error) from error

    async def _fetch(self, key: Hashable, fetch: Callable[[], Awaitable[Token]]) -> str:
        token = await fetch()
        seconds = token.expires_in
        ends_at = None
        if seconds is not None:
            ends_at = time.monotonic() + seconds - min(_EARLY_SECONDS, seconds / 10)
        with self._lock:
            self._held[key] = _Held(token.access_token, ends_at)
        return token.access_token

    def _end(
        self, place: tuple[asyncio.AbstractEventLoop, Hashable], done: asyncio.Task[str]
    ) -> None:
        del self._fetching[place]
        if not done.cancelled():
            done.exception()  # keeps asyncio from logging it if all callers have left


def _own(error: RemoteAgentError) -> RemoteAgentError:
    """Return a copy of an error: each caller adds the ids of its own task."""
    if isinstance(error, OAuthError):
        return RemoteAuthError(str(error))
    if isinstance(error, RemoteConnectionError):  # the agent has not seen the call
        return NotBegunError(str(error))
    return type(error)(str(error))
