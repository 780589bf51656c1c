"""Runs coroutines from blocking code, in an event loop on a separate thread.

Frameworks call models and tools from any thread, also inside a running event loop. All these calls
share one loop, and thus connections.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Sequence
    from concurrent.futures import Future

__all__ = ["answering_at", "can_answer", "iterate", "iterating", "run", "running"]

C = TypeVar("C", bound="Callable[..., object]")
P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class _Background:
    """An event loop in a thread, started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=self._loop.run_forever, name="a2a-adapters-io", daemon=True
                )
                thread.start()
            return self._loop


_background = _Background()


def _forget() -> None:
    global _background  # noqa: PLW0603 - a forked process does not have the thread
    _background = _Background()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


_Address = tuple[str, int]

_servers: WeakKeyDictionary[asyncio.AbstractEventLoop, list[_Address]] = WeakKeyDictionary()
"""The addresses at which event loops answer requests."""

_blocked: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("blocked", default=None)
"""The event loop that a call from its own thread blocks."""

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104 - compared


@contextmanager
def answering_at(addresses: Sequence[_Address]) -> Iterator[None]:
    """Note that the running event loop answers requests at these hosts and ports."""
    own = _servers.setdefault(asyncio.get_running_loop(), [])
    own.extend(addresses)
    try:
        yield
    finally:
        for each in addresses:
            own.remove(each)


def can_answer(host: str, port: int | None) -> bool:
    """Return whether the server at an address can answer the current call.

    It cannot if its event loop is blocked by the call.
    """
    loop = _blocked.get()
    own = _servers.get(loop, ()) if loop else ()
    return not any(port == its and (host == each or {host, each} <= _LOCAL) for each, its in own)


def _submit(coroutine: Coroutine[object, object, T]) -> Future[T]:
    """Start a coroutine on the background thread, with the caller's context variables."""
    try:
        caller = asyncio.get_running_loop()
    except RuntimeError:
        caller = None
    token = _blocked.set(caller)
    try:
        return asyncio.run_coroutine_threadsafe(coroutine, _background.loop())
    finally:
        _blocked.reset(token)


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Run a coroutine, block until it ends, and return its result.

    It sees the caller's context variables. An interrupt (Ctrl-C) cancels it.
    """
    return _result(_submit(coroutine))


def _result(future: Future[T]) -> T:
    try:
        return future.result()
    except BaseException:
        future.cancel()  # does nothing if the coroutine itself raised
        raise


class _Pump(Generic[T]):
    """Passes the items of an async generator to a thread."""

    def __init__(self, source: AsyncGenerator[T]) -> None:
        self._source = source
        self._items: deque[T] = deque()
        self._news = threading.Condition()
        self._is_over = False

    async def move(self) -> None:
        try:
            async for item in self._source:
                with self._news:
                    self._items.append(item)
                    self._news.notify()
        finally:
            await self._source.aclose()
            with self._news:
                self._is_over = True
                self._news.notify()

    def take(self) -> list[T]:
        """Wait for items and return them; an empty list means the end."""
        with self._news:
            self._news.wait_for(lambda: self._items or self._is_over)
            items = list(self._items)
            self._items.clear()
            return items


def iterate(source: AsyncGenerator[T]) -> Generator[T]:
    """Yield the items of an async generator. Closing this generator also closes that one."""
    pump = _Pump(source)
    future = _submit(pump.move())
    try:
        while items := pump.take():
            yield from items
        future.result()
    finally:
        future.cancel()


def running(
    method: Callable[Concatenate[S, P], Coroutine[object, object, T]],
) -> Callable[Concatenate[S, P], T]:
    """Return the variant of an async method for blocking code."""

    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return run(method(self, *args, **kwargs))

    return _named_after(method, call)


def iterating(
    method: Callable[Concatenate[S, P], AsyncGenerator[T]],
) -> Callable[Concatenate[S, P], Generator[T]]:
    """Return the variant of an async generator method for blocking code."""

    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T]:
        return iterate(method(self, *args, **kwargs))

    return _named_after(method, call)


def _named_after(method: Callable[..., object], call: C) -> C:
    update_wrapper(call, method)
    call.__doc__ = f"`{method.__name__}` from blocking code."
    return call
