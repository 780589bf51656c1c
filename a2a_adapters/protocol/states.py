"""Task states and sets of them (A2A 1.0, section 4.1.3).

Constants, because protobuf looks `TaskState.TASK_STATE_...` up by name each time.
"""

from __future__ import annotations

from a2a.types import TaskState

UNSPECIFIED = TaskState.TASK_STATE_UNSPECIFIED
SUBMITTED = TaskState.TASK_STATE_SUBMITTED
WORKING = TaskState.TASK_STATE_WORKING
COMPLETED = TaskState.TASK_STATE_COMPLETED
FAILED = TaskState.TASK_STATE_FAILED
CANCELED = TaskState.TASK_STATE_CANCELED
REJECTED = TaskState.TASK_STATE_REJECTED
INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED
AUTH_REQUIRED = TaskState.TASK_STATE_AUTH_REQUIRED

ACTIVE = frozenset({SUBMITTED, WORKING})
"""States in which the agent acts next."""
TERMINAL = frozenset({COMPLETED, FAILED, CANCELED, REJECTED})
INTERRUPTED = frozenset({INPUT_REQUIRED, AUTH_REQUIRED})
SETTLED = TERMINAL | INTERRUPTED
"""States in which a blocking send returns and a stream ends."""
