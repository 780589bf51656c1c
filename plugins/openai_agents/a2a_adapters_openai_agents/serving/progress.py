"""Reports the progress of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents import HandoffOutputItem, ReasoningItem, ToolCallItem, ToolCallOutputItem

from a2a_adapters import Progress, ToolCall, ToolResult, as_json, tool_arguments
from a2a_adapters_openai_agents.serving.tools import has_failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agents import RunItem, TResponseInputItem

    from a2a_adapters import ProgressEvent


class News:
    """Converts the items of one run to progress events.

    Args:
        items: The conversation before the run; it has the names of calls that waited for approval.
    """

    def __init__(self, items: Iterable[TResponseInputItem] = ()) -> None:
        self._names = {
            _member(item, "call_id"): _member(item, "name")
            for item in items
            if item.get("type") == "function_call"
        }

    def of(self, item: RunItem) -> ProgressEvent | None:
        """Return the event for a tool call, a result, a handoff or a thought."""
        match item:
            case ToolCallItem():
                return self._call(item)
            case ToolCallOutputItem():
                return self._result(item)
            case HandoffOutputItem(source_agent=source, target_agent=target):
                data = {"kind": "handoff", "source": source.name, "target": target.name}
                return Progress(f"handoff to {target.name}", data)
            case ReasoningItem(raw_item=thought) if thought.summary:
                text = "\n\n".join(summary.text for summary in thought.summary)
                return Progress(text, {"kind": "thought", "source": item.agent.name})
            case _:
                return None

    def _call(self, item: ToolCallItem) -> ToolCall:
        call_id = item.call_id or ""
        name = item.tool_name or _member(item.raw_item, "type")
        self._names[call_id] = name
        return ToolCall(call_id, name, tool_arguments(_member(item.raw_item, "arguments")))

    def _result(self, item: ToolCallOutputItem) -> ToolResult:
        call_id = item.call_id or ""
        failed = has_failed(item)
        result = None if failed else as_json(item.output)
        return ToolResult(call_id, self._names.get(call_id, ""), result, failed)


def _member(raw: object, name: str) -> str:
    found = raw.get(name) if isinstance(raw, dict) else getattr(raw, name, None)
    return found if isinstance(found, str) else ""
