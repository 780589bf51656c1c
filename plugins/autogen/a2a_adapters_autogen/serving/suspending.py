"""A team that waits for a user proxy, as a state from which it goes on with the answer.

The proxy blocks its run, which ends with the process. But in a team where one speaks after the
other everybody else is at rest meanwhile: the state says all, but for the proxy's own turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.messages import BaseChatMessage, HandoffMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm

from a2a_adapters_autogen.serving.runners import participants, state_of

if TYPE_CHECKING:
    from a2a_adapters_autogen.serving.memory import Question, State
    from a2a_adapters_autogen.serving.runners import Runner

_ONE_AFTER_THE_OTHER = (RoundRobinGroupChat, SelectorGroupChat, Swarm)


class Suspended(NamedTuple):
    """A team whose user proxy has the turn."""

    state: State
    asker: str
    """Who handed over to the proxy; "" if nobody did."""


async def suspended(runner: Runner, proxy: str) -> Suspended | None:
    """Return a running team as it waits for a user proxy; None if it cannot go on elsewhere."""
    members = {member.name: member for member in participants(runner)}
    if not isinstance(runner, _ONE_AFTER_THE_OTHER) or not isinstance(
        members.get(proxy), UserProxyAgent
    ):
        return None
    state = await state_of(runner)
    team: dict[str, Any] = state["state"]["agent_states"]
    heard = team[proxy]["message_buffer"]
    handoff = heard[-1] if heard and heard[-1]["type"] == HandoffMessage.__name__ else {}
    team[proxy]["message_buffer"] = []
    for member in team.values():
        if "current_turn" in member:  # the team's manager: the proxy's turn is over with the answer
            member["current_turn"] += 1
    return Suspended(state, handoff.get("source", ""))


def proxy_says(question: Question, text: str) -> BaseChatMessage:
    """Return what a user proxy says when it is answered."""
    if question.asker:
        return HandoffMessage(content=text, target=question.asker, source=question.addressee)
    return TextMessage(content=text, source=question.addressee)
