"""Look-ups of names that strangers choose, apart from the process's own."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from concurrent.futures import Future
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.concurrency.threads import ThreadPool

if TYPE_CHECKING:
    from collections.abc import Sequence

_Name: TypeAlias = tuple[str, int]

_THREADS = 8
_WAITING = 256
"""How many names may be looked up or wait for that."""
_SLOW_SECONDS = 5.0
"""How long a look-up may go on until those who come later are not kept waiting by it."""
_FAILURE_SECONDS = 10.0
_FAILURES = 1024


@dataclass(frozen=True, slots=True)
class _Lookup:
    """One look-up, for all who want that name now."""

    found: Future[Any]
    began_at: float


class Lookups:
    """Asks the system for addresses, in threads of its own: slow names hold up each other only.

    A name takes one thread, however many ask for it; one that failed is not looked up again for
    ten seconds.
    """

    def __init__(self) -> None:
        self._pool = ThreadPool(_THREADS, "a2a-adapters-names")
        self._lock = threading.Lock()  # several event loops look up names
        self._going: dict[_Name, _Lookup] = {}
        self._failed: BoundedMap[_Name, OSError] = BoundedMap(_FAILURES, _FAILURE_SECONDS)

    def begin(self, host: str, port: int) -> Future[Any]:
        """Return the look-up of a name, which may be under way.

        Raises:
            OSError: It has failed a moment ago, is slow, or too many are under way.
        """
        name = host, port
        with self._lock:
            if failure := self._failed.get(name):
                raise OSError(f"{host} could not be resolved a moment ago: {failure}")
            lookup = self._going.get(name)
            if lookup is None:
                if len(self._going) >= _WAITING:
                    raise OSError("too many names are being resolved")
                # Not in the caller's context: no task's end waits for this, or tells of it.
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


def _begin_anew() -> None:
    global _lookups  # noqa: PLW0603 - a forked process has none of the threads
    _lookups = Lookups()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host as the system has them, without blocking the event loop.

    Raises:
        OSError: There are none, or they could not be found a moment ago.
    """
    found = await asyncio.shield(asyncio.wrap_future(_lookups.begin(host, port)))
    return [str(address[0]) for *_, address in found]
