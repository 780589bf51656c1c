"""Resolves untrusted host names in separate threads, so that they cannot block other work."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextvars import Context
from dataclasses import dataclass
from typing import Any, TypeAlias

from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.concurrency.threads import ThreadPool

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the IP addresses of a host and port. Raises `OSError` if there are none."""

_Name: TypeAlias = tuple[str, int]

_THREADS = 8
_WAITING = 256
"""Maximum number of pending look-ups."""
_SLOW_SECONDS = 5.0
"""Age at which a pending look-up is slow, and later callers do not wait for it."""
_FAILURE_SECONDS = 10.0
_FAILURES = 1024


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A pending look-up, shared by all callers."""

    found: Future[Any]
    began_at: float


class Lookups:
    """Looks up names in its own threads.

    Concurrent requests for a name share a thread, and failures are cached for ten seconds.
    """

    def __init__(self) -> None:
        self._pool = ThreadPool(_THREADS, "a2a-adapters-names")
        self._lock = threading.Lock()  # several event loops look up names
        self._going: dict[_Name, _Lookup] = {}
        self._failed: BoundedMap[_Name, OSError] = BoundedMap(_FAILURES, _FAILURE_SECONDS)

    def begin(self, host: str, port: int) -> Future[Any]:
        """Return the pending or a new look-up of a name.

        Raises:
            OSError: It failed recently, is slow, or too many are pending.
        """
        name = host, port
        with self._lock:
            if failure := self._failed.get(name):
                raise OSError(f"{host} could not be resolved recently: {failure}")
            lookup = self._going.get(name)
            if lookup is None:
                if len(self._going) >= _WAITING:
                    raise OSError("too many names are being resolved")
                # In an empty context, because the look-up does not belong to the caller's task.
                found = Context().run(
                    self._pool.submit, socket.getaddrinfo, host, port, type=socket.SOCK_STREAM
                )
                lookup = self._going[name] = _Lookup(found, time.monotonic())
            elif time.monotonic() - lookup.began_at > _SLOW_SECONDS:
                raise TimeoutError(f"resolving {host} takes too long")
            else:
                return lookup.found
        lookup.found.add_done_callback(lambda found: self._end(name, found))
        return lookup.found

    def _end(self, name: _Name, found: Future[Any]) -> None:
        with self._lock:
            self._going.pop(name, None)
            if not found.cancelled() and isinstance(error := found.exception(), OSError):
                self._failed[name] = error


_lookups = Lookups()


def _reset() -> None:
    global _lookups  # noqa: PLW0603 - a forked process does not have the threads
    _lookups = Lookups()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Resolve a host by the system's resolver, without blocking the event loop.

    Raises:
        OSError: It has no address, or could not be resolved recently.
    """
    found = await asyncio.shield(asyncio.wrap_future(_lookups.begin(host, port)))
    return [str(address[0]) for *_, address in found]
