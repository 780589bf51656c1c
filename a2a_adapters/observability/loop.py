"""Measures the delay of the event loop, and warns about functions that block it."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

logger = logging.getLogger(__name__)

_INTERVAL = 0.5
_LONG = 1.0
_LOOP_MODULES = frozenset({"asyncio.base_events", "asyncio.runners"})

_LASTING = 3
"""Number of consecutive measurements that make a delay a lasting one."""

_LOG_SECONDS = 60.0
"""Minimum time between two warnings about a lasting delay."""


class LoopLag:
    """The delay of an event loop: the time that a new callback waits for its turn.

    Attributes:
        seconds: The last measurement.
        lasting: The least of the last three measurements.
    """

    def __init__(self) -> None:
        self.seconds = self.lasting = 0.0
        self._last = deque([0.0] * _LASTING, _LASTING)
        self._silent_until = 0.0

    def add(self, seconds: float, most: float) -> None:
        """Record a measurement; warn of a lasting delay above half of the limit `most`."""
        self._last.append(seconds)
        self.seconds, self.lasting = seconds, min(self._last)
        now = time.monotonic()
        if self.lasting > most / 2 and now > self._silent_until:
            self._silent_until = now + _LOG_SECONDS
            logger.warning(
                "the event loop is %.1f s late, and so are all answers: this process has more "
                "work than one core can do. Run more processes (--workers), or lower Limits.runs; "
                "new messages are refused beyond Limits.lag_seconds (%g)",
                self.lasting,
                most,
            )


_lags: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopLag] = WeakKeyDictionary()


def loop_lag() -> LoopLag:
    """Return the delay of the running event loop, which `watched_loop` measures."""
    loop = asyncio.get_running_loop()
    if (lag := _lags.get(loop)) is None:  # asked for with each message
        lag = _lags[loop] = LoopLag()
    return lag


@contextmanager
def watched_loop(most: float) -> Generator[None]:
    """Measure the delay of the running event loop, and log functions that block it for a second.

    A thread does so twice a second, so requests are not slowed down.

    Args:
        most: The limit of a lasting delay, in seconds.
    """
    over = threading.Event()
    watch = (asyncio.get_running_loop(), threading.get_ident(), over, loop_lag(), most)
    threading.Thread(target=_watch, args=watch, name="a2a-loop-watch", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _watch(
    loop: asyncio.AbstractEventLoop, thread: int, over: threading.Event, lag: LoopLag, most: float
) -> None:
    while not over.wait(_INTERVAL):
        since, sign = time.monotonic(), threading.Event()
        try:
            loop.call_soon_threadsafe(sign.set)
        except RuntimeError:
            return  # the loop is closed
        if sign.wait(_LONG):
            lag.add(time.monotonic() - since, most)
            continue
        culprit = _culprit(sys._current_frames().get(thread))  # noqa: SLF001 - there is no other way
        if culprit:
            logger.warning(
                "%s blocks the event loop, and with it all callers, for more than %g s: await in "
                "it, or remove async, so that it runs in a thread",
                culprit,
                _LONG,
            )
        while not sign.wait(_INTERVAL):
            if over.is_set():
                return
        seconds = time.monotonic() - since
        lag.add(seconds, most)
        if culprit:
            logger.warning("%s blocked the event loop for %.1f s", culprit, seconds)


def _culprit(frame: FrameType | None) -> str:
    """Return the name and place of the innermost function of the user, or else of a library.

    It is "" for the loop itself and for this package.
    """
    library = ""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module in _LOOP_MODULES:
            break  # outer frames started the loop
        code = frame.f_code
        package = module.partition(".")[0]
        if package not in sys.stdlib_module_names and not package.startswith("a2a_adapters"):
            found = f"{module}.{code.co_qualname} ({code.co_filename}:{frame.f_lineno})"
            if "site-packages" not in code.co_filename:
                return found
            library = library or found
        frame = frame.f_back
    return library
