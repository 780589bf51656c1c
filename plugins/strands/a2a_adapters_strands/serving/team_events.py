"""Converts the events of a graph or a swarm to adapter events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.multiagent.graph import Graph

from a2a_adapters import (
    AgentEvent,
    Progress,
    TaskMetadata,
    TokenUsage,
    ToolCalls,
)
from a2a_adapters_strands.serving.events import value_of
from a2a_adapters_strands.serving.spoken import Spoken, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strands.multiagent.base import MultiAgentResult

    from a2a_adapters_strands.serving.guards import Guards


class TeamEvents:
    """Converts the events of one run.

    The answer is what the last agents of a graph say, or all agents of a swarm, token by token. If
    they say nothing, it is the last result of the run. Agents that begin, and their tools, are
    progress.

    Attributes:
        result: The result of the run, once it has ended.

    Args:
        team: The graph or the swarm.
        wants_progress: Whether the client follows the progress.
        guards: What may change the text.
        streams: Whether text is yielded before it is accepted.
    """

    result: MultiAgentResult

    def __init__(self, team: Any, *, wants_progress: bool, guards: Guards, streams: bool) -> None:
        self._speakers = _last_nodes(team) if isinstance(team, Graph) else set(team.nodes)
        self._wants_progress = wants_progress
        self._tools = ToolCalls()
        self._spoken = Spoken(guards, streams=streams)
        self._last = ""

    def take(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of the framework."""
        match event:
            case {"type": "multiagent_node_start", "node_id": node} if self._wants_progress:
                yield Progress(node, {"kind": "step"})
            case {"type": "multiagent_node_stream", "node_id": node, "event": inner}:
                yield from self._of_agent(node, inner)
            case {"type": "multiagent_result", "result": result}:
                self.result = result

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer of a run that waits or has ended."""
        if not self._spoken and not self.result.interrupts:
            yield from self._spoken.say(self._last)
        yield from self._spoken.end()

    def usage(self) -> Iterator[AgentEvent]:
        """Yield the tokens of the run."""
        usage = self.result.accumulated_usage
        if usage["totalTokens"]:
            tokens = TokenUsage(usage["inputTokens"], usage["outputTokens"], usage["totalTokens"])
            yield TaskMetadata(tokens.as_metadata())

    def _of_agent(self, node: str, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        if node in self._speakers:
            yield from self._spoken.take(node, event)
        match event:
            case {"message": {"role": "assistant", "content": content}}:
                yield from self._calls(content)
            case {"message": {"role": "user", "content": content}}:
                yield from self._results(content)
            case {"result": result} if message := getattr(result, "message", None):
                text = text_of(message["content"]) if message["role"] == "assistant" else ""
                self._last = text if text.strip() else self._last

    def _calls(self, content: list[dict[str, Any]]) -> Iterator[AgentEvent]:
        for call in (block["toolUse"] for block in content if "toolUse" in block):
            if self._wants_progress:
                yield from self._tools.started(call["toolUseId"], call["name"], call["input"])

    def _results(self, content: list[dict[str, Any]]) -> Iterator[AgentEvent]:
        for result in (block["toolResult"] for block in content if "toolResult" in block):
            if result["toolUseId"] in self._tools:
                is_error, value = result["status"] == "error", value_of(result["content"])
                yield from self._tools.finished(result["toolUseId"], value, is_error=is_error)


def _last_nodes(graph: Graph) -> set[str]:
    return set(graph.nodes) - {edge.from_node.node_id for edge in graph.edges}
