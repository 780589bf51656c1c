"""One log line per task that ends."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from a2a.types import TaskState

from a2a_adapters.observability.tracing import trace_id

if TYPE_CHECKING:
    from a2a_adapters.runtime.live import LiveTask

logger = logging.getLogger("a2a_adapters.tasks")


def state_name(state: TaskState) -> str:
    """Return a state as people say it, `completed` for instance."""
    return TaskState.Name(state).removeprefix("TASK_STATE_").lower()


def log_end(live: LiveTask) -> None:
    """Log that a task has ended, and how long this process has known it."""
    if not logger.isEnabledFor(logging.INFO):
        return
    state = state_name(live.state)
    milliseconds = round((time.monotonic() - live.known_since) * 1000, 3)
    fields = {
        "task_id": live.task_id,
        "context_id": live.context_id,
        "owner": live.owner,
        "state": state,
        "duration_ms": milliseconds,
        "trace_id": trace_id(),
    }
    logger.info(
        "task %s %s after %s ms",
        live.task_id,
        state,
        milliseconds,
        extra={name: value for name, value in fields.items() if value != ""},
    )
