"""Reports the tool calls of agents as progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands import Agent

from a2a_adapters.plugin import ToolCalls
from a2a_adapters_strands.serving.guards import delegates_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from a2a_adapters import ToolCall, ToolResult
    from a2a_adapters_strands.serving.guards import Guards


class ToolReports:
    """Converts the tool calls and results of one run, without what hooks may still change.

    Args:
        known: The names of tools whose calls an earlier run reported, by the id of the call.
        guards: Returns what may change texts and calls.
    """

    def __init__(self, known: Mapping[str, str], guards: Callable[[], Guards]) -> None:
        self._calls = ToolCalls(known)
        self._running = dict(known)
        self._guards = guards
        self._unaccepted: set[str] = set()
        """The calls whose results become messages that hooks may change."""

    def called(self, agent: object, content: list[dict[str, Any]]) -> Iterator[ToolCall]:
        """Yield the calls of a model's message."""
        if not isinstance(agent, Agent):
            return
        for call in (block["toolUse"] for block in content if "toolUse" in block):
            call_id, name = call["toolUseId"], call["name"]
            # A structured output arrives as a call of a tool that only the run adds.
            if name not in agent.tool_registry.registry:
                continue
            self._running[call_id] = name
            guards = self._guards()
            if guards and name in delegates_of(agent):
                self._unaccepted.add(call_id)
            yield from self._calls.started(call_id, name, None if guards.calls else call["input"])

    def returned(self, content: list[dict[str, Any]]) -> Iterator[ToolResult]:
        """Yield the results in a message."""
        for result in (block["toolResult"] for block in content if "toolResult" in block):
            call_id = result["toolUseId"]
            if self._running.pop(call_id, None) is not None:
                is_hidden = call_id in self._unaccepted
                value = None if is_hidden else _value_of(result["content"])
                is_error = result["status"] == "error"
                yield from self._calls.finished(call_id, value, is_error=is_error)

    def failed(self) -> Iterator[ToolResult]:
        """Yield the results of the tools that were running when an error ended the run."""
        for call_id, name in self._running.items():
            yield from self._calls.finished(call_id, None, name=name, is_error=True)


def _value_of(content: list[dict[str, Any]]) -> object:
    """Return the text, or the data, of a tool's result."""
    values = [block.get("text", block.get("json")) for block in content]
    return values[0] if len(values) == 1 else values
