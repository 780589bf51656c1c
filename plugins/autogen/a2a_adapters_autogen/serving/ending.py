"""Predicts which message of a team is its last, so that it can be streamed.

A team's answer is its last message. Most teams find out that a message was the last one only when
it is complete: their termination condition looks at its text, or a model decides. In these cases
the end is known beforehand:

| the team ends                                     | the last message                             |
|---------------------------------------------------|----------------------------------------------|
| after `max_turns`, or `MaxMessageTermination` (*) | that of the last turn                        |
| by `SourceMatchTermination`                       | any message of these agents                  |
| by `TextMessageTermination`                       | any text, unless a tool call follows         |
| as a `GraphFlow` whose agents speak one at a time | that of an agent without outgoing edges      |
| as a `GraphFlow` whose branches are all joined    | that of the agent that joins them            |

(*) unless agents of a custom class, or several agents of one name, may send any number of messages.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from autogen_agentchat.base import AndTerminationCondition, ChatAgent, OrTerminationCondition
from autogen_agentchat.conditions import (
    MaxMessageTermination,
    SourceMatchTermination,
    TextMessageTermination,
)
from autogen_agentchat.messages import BaseChatMessage
from autogen_agentchat.teams import GraphFlow

from a2a_adapters_autogen.serving.references import is_own
from a2a_adapters_autogen.serving.runners import (
    TURN_TAKING,
    conditions_in,
    ending_of,
    graph_of,
    is_sequential,
    manager_state,
    participants,
    runners_in,
    voice_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autogen_agentchat.base import TerminationCondition
    from autogen_agentchat.messages import BaseAgentEvent
    from autogen_agentchat.teams import DiGraph

    from a2a_adapters_autogen.serving.memory import State
    from a2a_adapters_autogen.serving.runners import Runner


class Ending:
    """Counts the turns and messages of a team's run.

    Args:
        runner: The agent or team that runs.
        state: The state from which it runs.
        seen: The messages its termination condition has seen, and those of its task.
    """

    def __init__(
        self,
        runner: Runner,
        state: State | None,
        seen: Iterable[BaseAgentEvent | BaseChatMessage],
    ) -> None:
        members = (member for member in participants(runner) if isinstance(member, ChatAgent))
        self._members = {member.name for member in members}
        self._leaves = _last_in_graph(graph_of(runner)) if isinstance(runner, GraphFlow) else set()
        self._condition, self._max_turns = (
            ending_of(runner) if isinstance(runner, TURN_TAKING) else (None, None)
        )
        self._turns: float = manager_state(state).get("current_turn", 0)
        self._messages: float = sum(isinstance(message, BaseChatMessage) for message in seen)
        names = voice_names(runner)
        if len(names) > len(set(names)) or any(map(is_own, runners_in(runner))):
            self._turns = self._messages = -inf  # a message may not be that of a turn

    def count(self, message: BaseChatMessage) -> None:
        """Count a message of the run."""
        if message.source in self._members:
            self._turns += 1
            self._messages += 1

    def speakers(self) -> set[str]:
        """Return the agents whose next message is certain to be the last."""
        if self._max_turns is not None and self._turns + 1 >= self._max_turns:
            return set(self._members)
        return self._leaves | {name for name in self._members if self._ends(self._condition, name)}

    def _ends(self, condition: TerminationCondition | None, source: str) -> bool:
        """Whether the next message meets a condition if it comes from this agent."""
        match condition:
            case OrTerminationCondition():
                return any(self._ends(inner, source) for inner in conditions_in(condition))
            case AndTerminationCondition():
                return all(self._ends(inner, source) for inner in conditions_in(condition))
            case MaxMessageTermination():
                limit: int = condition.dump_component().config["max_messages"]
                return self._messages + 1 >= limit
            case SourceMatchTermination():
                return source in condition.dump_component().config["sources"]
            case TextMessageTermination():
                return condition.dump_component().config.get("source") in {None, source}
        return False


def _last_in_graph(graph: DiGraph) -> set[str]:
    """Return the agents after which nothing else can run."""
    leaves = graph.get_leaf_nodes()
    if is_sequential(graph):
        return leaves
    edges = [edge for node in graph.nodes.values() for edge in node.edges if edge.target in leaves]
    groups = {(edge.activation_group, edge.activation_condition) for edge in edges}
    is_joined = len(groups) == 1 and groups.pop()[1] == "all" and not graph.get_has_cycles()
    return leaves if len(leaves) == 1 and is_joined else set()
