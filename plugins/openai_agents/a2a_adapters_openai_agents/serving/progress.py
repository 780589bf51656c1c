"""Reports the progress of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents import HandoffOutputItem, ReasoningItem, ToolCallItem, ToolCallOutputItem

from a2a_adapters import Progress
from a2a_adapters.plugin import ToolCalls
from a2a_adapters_openai_agents.serving.failures import has_failed
from a2a_adapters_openai_agents.serving.guards import checks_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agents import RunItem, TResponseInputItem

    from a2a_adapters.plugin import ProgressEvent


class RunProgress:
    """Converts the items of one run to progress events.

    Args:
        items: The conversation before the run; it has the names of calls that waited for approval.
    """

    def __init__(self, items: Iterable[TResponseInputItem] = ()) -> None:
        self._tools = ToolCalls(
            {
                _member(item, "call_id"): _member(item, "name")
                for item in items
                if item.get("type") == "function_call"
            }
        )
        self._withheld: set[str | None] = set()

    def withhold(self, items: Iterable[RunItem], answer: object) -> None:
        """Report the results among the last items of a run without content, unless they answer."""
        results = (item for item in items if isinstance(item, ToolCallOutputItem))
        self._withheld = {item.call_id for item in results if item.output != answer}

    def events(self, item: RunItem) -> Sequence[ProgressEvent]:
        """Return the events for a tool call, a result, a handoff or a thought."""
        match item:
            case ToolCallItem():
                name = item.tool_name or _member(item.raw_item, "type")
                is_checked = checks_arguments(item.agent, name)
                arguments = "" if is_checked else _member(item.raw_item, "arguments")
                return self._tools.started(item.call_id or "", name, arguments)
            case ToolCallOutputItem():
                failed = has_failed(item)
                output = None if item.call_id in self._withheld else item.output
                return self._tools.finished(item.call_id or "", output, is_error=failed)
            case HandoffOutputItem(source_agent=source, target_agent=target):
                data = {"kind": "handoff", "source": source.name, "target": target.name}
                return [Progress(f"handoff to {target.name}", data)]
            case ReasoningItem(raw_item=thought) if thought.summary:
                text = "\n\n".join(summary.text for summary in thought.summary)
                return [Progress(text, {"kind": "thought", "source": item.agent.name})]
            case _:
                return []


def _member(raw: object, name: str) -> str:
    found = raw.get(name) if isinstance(raw, dict) else getattr(raw, name, None)
    return found if isinstance(found, str) else ""
