"""Brings a graph's thread back to rest after a run that was cut off."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.constants import END
from langgraph.types import StateUpdate

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_NOT_RUN = "The tool call was cancelled."

logger = logging.getLogger(__name__)


async def repair_thread(graph: Any, config: RunnableConfig) -> None:
    """Drop the steps that were left to do and answer tool calls that were left open.

    A model refuses a conversation in which a tool call has no result, so without this the
    next turn would fail.
    """
    # Without the run's callbacks: those stop whatever goes on after a cancel.
    thread = {"configurable": config["configurable"]}
    try:
        state = await graph.aget_state(thread)
        if not state.tasks:
            return
        node = state.tasks[0].name
        # Keeps what parallel nodes had finished, which may leave new steps to do.
        await graph.aupdate_state(thread, None, as_node=END)
        state = await graph.aget_state(thread)
        steps = [[StateUpdate(update, node)] for update in _results_of_open_calls(state.values)]
        if steps or state.next:
            await graph.abulk_update_state(thread, [*steps, [StateUpdate(None, END)]])
    except Exception:  # the run's own end, a cancel or an error, is what matters
        logger.exception("could not repair the thread of a run that was cut off")


def _results_of_open_calls(values: object) -> Iterator[dict[str, list[ToolMessage]]]:
    if not isinstance(values, Mapping):
        return
    for key, messages in values.items():
        if isinstance(messages, list) and (open_calls := _open_calls(messages)):
            yield {
                key: [
                    ToolMessage(_NOT_RUN, tool_call_id=call_id, status="error")
                    for call_id in open_calls
                ]
            }


def _open_calls(messages: Sequence[object]) -> list[str]:
    """Return the ids of the last tool calls that have no result."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            ids = [call["id"] or "" for call in message.tool_calls]
            return [call_id for call_id in ids if call_id not in answered]
        elif isinstance(message, BaseMessage):
            return []
    return []
