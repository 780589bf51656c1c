"""One log line per task that ends."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from a2a.types import TaskState

from a2a_adapters.observability.tracing import trace_id

if TYPE_CHECKING:
    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.live import LiveTask

_NAMES = {value: name.removeprefix("TASK_STATE_").lower() for name, value in TaskState.items()}

logger = logging.getLogger("a2a_adapters.tasks")


def report_end(figures: Figures, live: LiveTask) -> None:
    """Count and log that a task has ended, and how long this process has known it."""
    state = _NAMES[live.state]
    figures.tasks[state] += 1
    if not logger.isEnabledFor(logging.INFO):
        return
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
