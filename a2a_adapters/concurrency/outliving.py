"""Counts and logs blocking calls that outlive their task, because threads cannot be stopped."""

from __future__ import annotations

import logging
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)

_lock = threading.Lock()
_outliving = 0


class TaskCalls:
    """The blocking calls of one task, in any thread.

    Attributes:
        request: The `AgentRequest` that is being answered.
        observed: The `ObservedRun` of its answer.
        agent: The agent whose threads it uses.
        reserved: The pool that keeps a thread for its next call, if any.
    """

    request: Any
    observed: Any
    reserved: object = None

    def __init__(self, task_id: str, agent: object = None) -> None:
        self._task_id = task_id
        self.agent = agent
        self._running = 0
        self._is_over = False

    def watched(self, function: Callable[P, T]) -> Callable[P, T]:
        """Wrap a function so that its calls are counted, unless it is already wrapped."""
        if isinstance(function, _Watched):
            return function
        return _Watched(self, function)

    def use_reservation(self, pool: object) -> bool:
        """Use the thread that a pool keeps for it; return whether there is one."""
        is_there = self.reserved is pool
        if is_there:
            self.reserved = None
        return is_there

    def end(self) -> None:
        """Note that the task was stopped, and log the number of calls that continue."""
        global _outliving  # noqa: PLW0603 - a metric of the process
        with _lock:
            if self._is_over:
                return
            self._is_over = True
            left = self._running
            _outliving += left
        if left:
            logger.warning(
                "%d blocking call(s) of task %s continue although it was stopped, because threads "
                "cannot be stopped; their results are dropped",
                left,
                self._task_id,
            )

    def count(self, change: int) -> None:
        """Count started calls, or ended ones if negative."""
        global _outliving  # noqa: PLW0603
        with _lock:
            self._running += change
            if self._is_over:
                _outliving += change


class _Watched(Generic[P, T]):
    """A function whose running calls are counted."""

    def __init__(self, calls: TaskCalls, function: Callable[P, T]) -> None:
        self._calls = calls
        self._function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        self._calls.count(1)
        try:
            return self._function(*args, **kwargs)
        finally:
            self._calls.count(-1)


CURRENT: ContextVar[TaskCalls | None] = ContextVar("a2a_adapters_task_calls", default=None)
"""The calls of the current task, if any; a follow-up of the task has the same ones."""


def outliving_calls() -> int:
    """Return the number of blocking calls of this process that outlive their tasks."""
    return _outliving
