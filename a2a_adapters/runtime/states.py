"""Which task states end a task and which leave it waiting (A2A 1.0, section 4.1.3)."""

from __future__ import annotations

from a2a.types import TaskState

TERMINAL = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
INTERRUPTED = frozenset({TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED})
SETTLED = TERMINAL | INTERRUPTED
"""States in which a blocking send returns and a message's stream ends."""
