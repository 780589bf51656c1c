"""Where a conversation with a remote agent has come to.

The SDK gives a model all items every time, and no name of their conversation. So an answer names
it itself, in the `provider_data` that the SDK keeps with a message, in sessions and in stored runs
too: what comes after it is new to the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from a2a_adapters import AgentReply

_KEY = "a2a"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation with an agent has come to.

    Attributes:
        agent: The agent's address.
        context_id: Its contextId; "" for a new conversation.
        task_id: The task that waits for the next message; "" when none does.
    """

    agent: str
    context_id: str = ""
    task_id: str = ""

    def after(self, reply: AgentReply) -> Place:
        """Return where the conversation has come to with an answer."""
        return Place(self.agent, reply.context_id, reply.task_id if reply.is_question else "")

    def as_provider_data(self) -> dict[str, Any]:
        """Return what a message is to keep."""
        return {_KEY: asdict(self)}


def new_to(
    agent: str, items: Sequence[Mapping[str, Any]]
) -> tuple[Place, Sequence[Mapping[str, Any]]]:
    """Return where an agent's conversation has come to, and the items that it does not know."""
    for position in range(len(items), 0, -1):
        kept = items[position - 1].get("provider_data") or {}
        place = kept.get(_KEY)
        if place and place["agent"] == agent and place["context_id"]:
            return Place(**place), items[position:]
    return Place(agent), items
