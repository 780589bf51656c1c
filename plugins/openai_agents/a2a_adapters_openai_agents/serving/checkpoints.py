"""Runs that go on, after their last finished turn, when their process is gone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents import Agent, Handoff

from a2a_adapters_openai_agents.serving.memory import Begun, Conversation, ConversationKey
from a2a_adapters_openai_agents.serving.session import RunSession

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agents import TResponseInputItem

    from a2a_adapters import AgentRequest


class StoredSession(RunSession):
    """A session that is stored after every turn, beside what was said before its task.

    Args:
        request: What is answered.
        conversation: Where it is stored, and what was said before the task.
        agent: Whose turn it is.
        items: What was said before the run.
        begins: How many of these are from before the message that is answered.
    """

    def __init__(
        self,
        request: AgentRequest,
        conversation: Conversation,
        agent: Agent[Any],
        items: Sequence[TResponseInputItem],
        begins: int,
    ) -> None:
        super().__init__(ConversationKey(request.owner, request.context_id), items)
        self._request = request
        self._conversation = conversation
        self._before = conversation.known.settled()
        self._agent = agent.name
        self._begins = begins

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add to it, and store it."""
        await super().add_items(items)
        await self._store()

    async def turn_of(self, agent: Agent[Any]) -> None:
        """Note whose turn it is."""
        if agent.name != self._agent:
            self._agent = agent.name
            await self._store()

    async def _store(self) -> None:
        if self._request.cancelled.left_behind:  # the conversation is another run's now
            return
        begun = Begun(self._request.task_id, self._agent, self.items, self._begins)
        await self._conversation.keep(replace(self._before, begun=begun))


def finished(items: Sequence[TResponseInputItem]) -> Sequence[TResponseInputItem]:
    """Return the items up to where a model is called next: after a user, or after tools."""
    end = len(items)
    while end and not _calls_for_a_model(items[end - 1]):
        end -= 1
    return items[:end]


def said(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the texts that agents have said."""
    for item in items:
        if item.get("role") == "assistant":
            yield "".join(each.get("text", "") for each in item["content"])


def agent_named(root: Agent[Any], name: str) -> Agent[Any]:
    """Return the agent of this name among those that are handed over to, or where all begins."""
    return next((agent for agent in reachable(root) if agent.name == name), root)


def reachable(root: Agent[Any]) -> Sequence[Agent[Any]]:
    """Return an agent and all that are handed over to from there."""
    known = [root]
    for agent in known:  # which grows
        for target in map(_target, agent.handoffs):
            if target and not any(target is each for each in known):
                known.append(target)
    return known


def _target(handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | None:
    """Return who is handed over to; None if only the handoff's own function knows."""
    if isinstance(handoff, Agent):
        return handoff
    reference = handoff._agent_ref  # noqa: SLF001 - nothing public tells, and `RunState` reads it
    target = reference() if reference else None
    return target if isinstance(target, Agent) else None


def _calls_for_a_model(item: Mapping[str, Any]) -> bool:
    return item.get("role") == "user" or str(item.get("type")).endswith("_output")
