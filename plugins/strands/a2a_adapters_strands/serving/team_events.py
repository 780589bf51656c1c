"""Converts the events of a graph or a swarm to adapter events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.agent import AgentResult
from strands.multiagent.base import MultiAgentBase, MultiAgentResult
from strands.multiagent.graph import Graph
from strands.multiagent.swarm import Swarm

from a2a_adapters import (
    AgentEvent,
    Progress,
    TaskMetadata,
    TokenUsage,
)
from a2a_adapters_strands.serving.results import data_of, files_of, message_of, text_of_result
from a2a_adapters_strands.serving.spoken import Spoken
from a2a_adapters_strands.serving.tools import ToolReports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strands.multiagent.base import NodeResult


class TeamEvents:
    """Converts the events of one run.

    The answer is what the last agents of a graph say, or all agents of a swarm, token by token,
    followed by the files and the data of their results. If none of the last agents has run, it is
    that of the agent that ran last. Agents that begin, and their tools, are progress.

    Attributes:
        result: The result of the run, once it has ended.

    Args:
        team: The graph or the swarm.
        wants_progress: Whether the client follows the progress.
        is_held: Whether the server holds text back until it is accepted.
    """

    result: MultiAgentResult

    def __init__(self, team: Any, *, wants_progress: bool, is_held: bool) -> None:
        self._speakers = _last_nodes(team) if isinstance(team, Graph) else set(team.nodes)
        self._wants_progress = wants_progress
        self._team = team
        self._spoken = Spoken(team, is_held=is_held)
        self._tools = ToolReports({}, lambda: self._spoken.guards)
        self._ended: set[str] = set()
        """The agents that have ended in this run, also those before a question."""

    def take(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of the framework."""
        match event:
            case {"type": "multiagent_node_start", "node_id": node}:
                if self._wants_progress:
                    yield Progress(node, {"kind": "step"})
                if isinstance(self._team, Graph):  # its result is that of the last time
                    yield from self._spoken.forget(node)
            case {"type": "multiagent_node_stream", "node_id": node, "event": inner}:
                yield from self._of_agent(node, inner)
            case {"type": "multiagent_result", "result": result}:
                self.result = result

    def answers(self) -> dict[str, NodeResult]:
        """Return the results that are the answer, by the agents' names."""
        results = self.result.results
        found = {name: each for name, each in results.items() if name in self._speakers}
        if found or self.result.interrupts:
            return found
        ended = (each.node_id for each in getattr(self.result, "execution_order", ()))
        return {name: results[name] for name in list(ended)[-1:] if name in results}

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer of a run that waits or has ended."""
        results = {name: each.result for name, each in self.answers().items()}
        for name, result in results.items():
            if name in self._speakers:
                yield from self._spoken.settle(name, result)
            else:
                yield from self._spoken.say(text_of_result(result))
        yield from self._spoken.end()
        for result in (each for name, each in results.items() if name in self._ended):
            yield from files_of(message_of(result))
            yield from data_of(result)

    def usage(self) -> Iterator[AgentEvent]:
        """Yield the tokens of the run."""
        usage = self.result.accumulated_usage
        if usage["totalTokens"]:
            tokens = TokenUsage(usage["inputTokens"], usage["outputTokens"], usage["totalTokens"])
            yield TaskMetadata(tokens.as_metadata())

    def _of_agent(self, node: str, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        if node in self._speakers:
            if "result" in event and self._is_own(node):
                yield from self._spoken.forget(node)
            yield from self._spoken.take(node, event)
        match event:
            case {"message": {"role": "assistant", "content": content}} if self._wants_progress:
                yield from self._tools.called(self._team.nodes[node].executor, content)
            case {"message": {"role": "user", "content": content}} if self._wants_progress:
                yield from self._tools.returned(content)
            case {"result": AgentResult() | MultiAgentResult() as result}:
                if not result.interrupts:
                    self._ended.add(node)

    def _is_own(self, node: str) -> bool:
        """Whether a node is a team of the user's own, which answers with its result only."""
        executor = self._team.nodes[node].executor
        return isinstance(executor, MultiAgentBase) and not isinstance(executor, Graph | Swarm)


def _last_nodes(graph: Graph) -> set[str]:
    return set(graph.nodes) - {edge.from_node.node_id for edge in graph.edges}
