"""Handoffs to remote agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from agents import Agent, Handoff, handoff
from agents.extensions.handoff_filters import remove_all_tools

from a2a_adapters import RemoteAgent, ToolDescription
from a2a_adapters_openai_agents.calling.model import A2AModel

if TYPE_CHECKING:
    from a2a_adapters import AgentDescription, AgentOptions

_PREFIX = "transfer_to_"
_NAME_LENGTH = 64


def a2a_handoff(
    agent: RemoteAgent | str,
    about: AgentDescription | None = None,
    **options: Unpack[AgentOptions],
) -> Handoff[Any, Agent[Any]]:
    """Return a handoff to any A2A agent: `Agent(handoffs=[a2a_handoff(url)])`.

    The remote agent receives the conversation without its tool calls and continues it as an agent
    whose model is `A2AModel`. Its question becomes the run's output; a further run with that
    run's `last_agent` answers it.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees. Without it the agent's card is
            read now, by a blocking call; in async code give `await RemoteAgent(...).describe()`.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """
    remote = RemoteAgent.of(agent, **options)
    about = about or remote.describe_sync()
    target: Agent[Any] = Agent(
        name=about.name, handoff_description=about.description, model=A2AModel(remote)
    )
    named = ToolDescription.of_agent(about)
    return handoff(
        target,
        tool_name_override=f"{_PREFIX}{named.name}"[:_NAME_LENGTH],
        tool_description_override=named.description,
        input_filter=remove_all_tools,
    )
