"""Finds the callers of crewai on the stack of the code that emits an event."""

from __future__ import annotations

import inspect
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_STANDARD = sysconfig.get_paths()["stdlib"]


def is_called_by(method: Any, source: object) -> bool:
    """Whether a method of a flow has called a crew, an agent or a model itself.

    Other code in between, such as a class of your own with a method `kickoff`, may check the
    result. Calls in another thread, as `kickoff_async` makes them, count as those of the method.

    Args:
        method: The method.
        source: The crew, agent or model that emits an event; its own methods do not count.
    """
    code = inspect.unwrap(method).__code__
    for frame in _stack():
        if frame.f_code is code:
            return True
        if not _is_library(frame) and frame.f_locals.get("self") is not source:
            return False
    return True


def _stack() -> Iterator[FrameType]:
    """Yield the frames of the current thread, innermost first."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - `inspect.stack` reads source files
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    is_installed = "-packages" in file or file.startswith((_STANDARD, "<"))
    return is_installed or frame.f_globals.get("__name__", "").startswith("a2a_adapters_crewai.")
