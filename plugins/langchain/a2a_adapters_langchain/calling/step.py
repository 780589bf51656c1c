"""Which question the calls of one step of a graph may answer.

A model calls tools in parallel: the question that one of the calls gets is not known to the others,
and none of them may be taken for its answer.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import Conversation

_CHECKPOINTS = "checkpoint_map"
"""Where LangGraph tells with which checkpoints a step began: no two steps with the same."""

_lock = Lock()
_waiting: WeakKeyDictionary[Conversation, tuple[Any, str]] = WeakKeyDictionary()
"""The last step that called each conversation, and the task that waited when it began."""


def answered_task(conversation: Conversation, config: RunnableConfig) -> str | None:
    """Return the task that a call answers, "" for none; None, outside of graphs, for any."""
    step = config.get("configurable", {}).get(_CHECKPOINTS)
    if not step:
        return None
    with _lock:
        known, task_id = _waiting.get(conversation, (None, ""))
        if known != step:
            task_id = conversation.task_id
            _waiting[conversation] = (step, task_id)
        return task_id
