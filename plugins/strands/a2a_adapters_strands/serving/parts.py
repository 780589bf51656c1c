"""The parts of an agent or a team that hold the messages of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.agent.conversation_manager import NullConversationManager
from strands.multiagent.base import MultiAgentBase

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def members(team: Any) -> Mapping[str, Any]:
    """Return the agents and teams of a team, by their names."""
    return {name: node.executor for name, node in getattr(team, "nodes", {}).items()}


def agents_in(target: object) -> list[Agent | MultiAgentBase]:
    """Return an agent or a team, and all agents and teams that it may run."""
    found: dict[int, Any] = {}
    waiting = [target]
    for each in waiting:  # which grows
        if isinstance(each, Agent | MultiAgentBase) and id(each) not in found:
            found[id(each)] = each
            waiting += _below(each)
    return list(found.values())


def stateful_parts(target: object) -> Iterator[object]:
    """Yield all that a run changes, which another one must not have at the same time."""
    for each in agents_in(target):
        yield each
        manager = getattr(each, "conversation_manager", None)
        if manager is not None and not isinstance(manager, NullConversationManager):
            yield manager


def _below(target: Agent | MultiAgentBase) -> list[object]:
    if not isinstance(target, Agent):
        return list(members(target).values())
    tools = target.tool_registry.registry.values()
    summarizer = getattr(target.conversation_manager, "summarization_agent", None)
    return [*(getattr(tool, "agent", None) for tool in tools), summarizer]
