"""Warns about functions that block the event loop and so all callers."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

logger = logging.getLogger(__name__)

_INTERVAL = 0.5
_LONG = 1.0
_LOOP_MODULES = frozenset({"asyncio.base_events", "asyncio.runners"})


@contextmanager
def watched_loop() -> Generator[None]:
    """Log functions that block the running event loop for more than a second.

    A thread checks the loop's responsiveness twice a second, so requests are not slowed down.
    """
    over = threading.Event()
    watch = (asyncio.get_running_loop(), threading.get_ident(), over)
    threading.Thread(target=_watch, args=watch, name="a2a-loop-watch", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _watch(loop: asyncio.AbstractEventLoop, thread: int, over: threading.Event) -> None:
    while not over.wait(_INTERVAL):
        since, sign = time.monotonic(), threading.Event()
        try:
            loop.call_soon_threadsafe(sign.set)
        except RuntimeError:
            return  # the loop is closed
        if sign.wait(_LONG):
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
        if culprit:
            seconds = time.monotonic() - since
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
