"""The session of one run, and its checkpoints: runs of dead processes resume after a turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents import Agent, Handoff

from a2a_adapters_openai_agents.serving.memory import Begun, Conversation
from a2a_adapters_openai_agents.serving.output import image_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agents import SessionSettings, TResponseInputItem

    from a2a_adapters import AgentRequest, Output


class RunSession:
    """The conversation of one run. The items of a failed run are dropped.

    Args:
        request: The request. Model providers receive a digest of its conversation.
        items: The items before the run.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, request: AgentRequest, items: Sequence[TResponseInputItem]) -> None:
        self.session_id = request.conversation_key()
        self.items = list(items)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return all items, or the last `limit`."""
        return list(self.items) if limit is None else self.items[max(len(self.items) - limit, 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items."""
        self.items += items

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the last item, if any."""
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        """Remove all items."""
        self.items.clear()


class StoredSession(RunSession):
    """A session that is stored after every turn, beside the items from before its task.

    Args:
        request: The request that is being answered.
        conversation: Stores the session.
        agent: The agent that has the turn.
        items: The items before the run.
        begins: The number of items before the message that is being answered.
    """

    def __init__(
        self,
        request: AgentRequest,
        conversation: Conversation,
        agent: Agent[Any],
        items: Sequence[TResponseInputItem],
        begins: int,
    ) -> None:
        super().__init__(request, items)
        self._request = request
        self._conversation = conversation
        self._before = conversation.known.settled()
        self._agent = agent.name
        self._begins = begins

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items and store the session."""
        await super().add_items(items)
        await self._store()

    async def turn_of(self, agent: Agent[Any]) -> None:
        """Record which agent has the turn."""
        if agent.name != self._agent:
            self._agent = agent.name
            await self._store()

    async def _store(self) -> None:
        if self._request.cancelled.left_behind:  # another run owns the conversation now
            return
        begun = Begun(self._request.task_id, self._agent, self.items, self._begins)
        await self._conversation.keep(replace(self._before, begun=begun))


def finished(items: Sequence[TResponseInputItem]) -> Sequence[TResponseInputItem]:
    """Return the items up to the next model call: after a user message or a tool result."""
    end = len(items)
    while end and not _calls_for_a_model(items[end - 1]):
        end -= 1
    return items[:end]


def said(items: Sequence[Mapping[str, Any]], agent: str) -> Iterator[str | Output]:
    """Yield the texts of agents, and their images as those of an agent with this name."""
    for item in items:
        if item.get("role") == "assistant":
            yield "".join(each.get("text", "") for each in item["content"])
        elif image := image_of(item, agent):
            yield image


def agent_named(root: Agent[Any], name: str) -> Agent[Any]:
    """Return the reachable agent of this name, by default the root."""
    return next((agent for agent in reachable(root) if agent.name == name), root)


def reachable(root: Agent[Any]) -> Sequence[Agent[Any]]:
    """Return an agent and all agents that its handoffs lead to."""
    known = [root]
    for agent in known:  # which grows
        for target in map(_target, agent.handoffs):
            if target and not any(target is each for each in known):
                known.append(target)
    return known


def _target(handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | None:
    """Return a handoff's target; None if only its function can make it."""
    if isinstance(handoff, Agent):
        return handoff
    reference = handoff._agent_ref  # noqa: SLF001 - there is no public name, and `RunState` reads it
    target = reference() if reference else None
    return target if isinstance(target, Agent) else None


def _calls_for_a_model(item: Mapping[str, Any]) -> bool:
    return item.get("role") == "user" or str(item.get("type")).endswith("_output")
