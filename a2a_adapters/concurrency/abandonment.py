"""Cleans up what a task has left open elsewhere, if the task is cancelled while it waits."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from a2a_adapters.concurrency.background import in_background
from a2a_adapters.concurrency.bounded import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_TASKS = 10_000

_lock = Lock()
_open: BoundedMap[str, dict[str, Callable[[], Coroutine[Any, Any, object]]]] = BoundedMap(_TASKS)


def leave_open(
    task_id: str, name: str, clean_up: Callable[[], Coroutine[Any, Any, object]]
) -> None:
    """Note that a task has left something open.

    Args:
        task_id: The task of this process.
        name: Identifies what is open.
        clean_up: Closes it; called in any event loop if the task is cancelled.
    """
    with _lock:
        _open[task_id] = {**(_open.get(task_id) or {}), name: clean_up}


def note_closed(task_id: str, name: str) -> None:
    """Note that something a task had left open is closed."""
    with _lock:
        if (left := _open.get(task_id)) and left.pop(name, None) and not left:
            _open.pop(task_id)


def abandon(task_id: str) -> None:
    """Close in the background what a task has left open."""
    with _lock:
        left = _open.pop(task_id) or {}
    for clean_up in left.values():
        in_background(clean_up())
