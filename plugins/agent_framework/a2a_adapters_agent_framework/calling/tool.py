"""A remote agent, or one of its skills, as a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from agent_framework import FunctionTool

from a2a_adapters import RemoteAgent, Skill
from a2a_adapters.plugin import AgentDescription, StatelessTool, StatelessToolInput

if TYPE_CHECKING:
    from a2a_adapters.plugin import AgentOptions


def a2a_tool(
    agent: RemoteAgent | str,
    about: AgentDescription | Skill | None = None,
    *,
    wait: float | None = None,
    **options: Unpack[AgentOptions],
) -> FunctionTool:
    """Return any A2A agent as a tool: `Agent(tools=[a2a_tool("http://localhost:8000")], ...)`.

    A result contains its context id, and its task id if the agent asks a question. To continue the
    conversation, the model passes these ids to the next call. The tool is stateless: it serves any
    number of runs. If the agent fails, the model sees the reason.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees: of the agent, or of one of its skills, whose id
            is then sent as metadata `skill_id`. Without it the agent's card is read now, by a
            blocking call; in async code, pass `await RemoteAgent(...).describe()`.
        wait: Maximum time in seconds that a call waits for the answer. The next call with the
            task's id resumes waiting. None waits as long as the agent's timeout allows.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """
    tool = StatelessTool(RemoteAgent.of(agent, **options), about, wait)
    return FunctionTool(
        name=tool.name,
        description=tool.description,
        func=tool.answer,
        input_model=StatelessToolInput,
    )
