"""Stops what crewai runs in threads: no model or tool is called after a run's end.

Cancelling the task of a run does not reach code in threads. That code meets these hooks before
its next model or tool call. They say nothing about calls outside of served runs.
"""

from __future__ import annotations

import functools
import logging
from typing import Any

from crewai.hooks import register_before_llm_call_hook, register_before_tool_call_hook

from a2a_adapters_crewai.serving.run import current_run

logger = logging.getLogger(__name__)


@functools.cache
def watch_calls() -> None:
    """Register the hooks, once per process."""
    register_before_llm_call_hook(_allow)
    register_before_tool_call_hook(_allow)


def _allow(_: Any) -> bool | None:
    """Forbid a call of a run that is over; have no opinion on any other."""
    run = current_run.get()
    if run is None or not run.is_over:
        return None
    logger.warning("a thread of task %s went on after its end; it was stopped now", run.task_id)
    return False
