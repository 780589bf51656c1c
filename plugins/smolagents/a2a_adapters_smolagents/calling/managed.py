"""A remote agent as a managed agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from a2a_adapters import Data, RemoteAgent, Text
from a2a_adapters.plugin import AgentDescription, ToolDescription, as_json, tool_answer
from a2a_adapters_smolagents.calling.tool import identifier

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.plugin import AgentOptions


class A2AManagedAgent:
    """Any A2A agent as a managed agent: `CodeAgent(managed_agents=[A2AManagedAgent(url)], ...)`.

    Each call is a new conversation, as for other managed agents. If the agent asks a question, the
    manager has to call it again with the whole task. If it fails, the manager sees the reason.

    Attributes:
        name: The name by which the manager calls it.
        description: What the manager knows of it.

    Args:
        agent: The agent, or its URL.
        about: The description of the agent. Without it the agent's card is read now.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """

    inputs: Mapping[str, Any]
    output_type: str

    def __init__(
        self,
        agent: RemoteAgent | str,
        about: AgentDescription | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        self._agent = RemoteAgent.of(agent, **options)
        described = ToolDescription.of_agent(about or self._agent.describe_sync())
        self.name = identifier(described.name)
        self.description = described.description

    def __call__(self, task: str, additional_args: Mapping[str, Any] | None = None) -> str:
        """Return the agent's answer to a task.

        Raises:
            RemoteAgentError: The agent does not answer. The framework tells the manager.
        """
        data = [Data(as_json(additional_args))] if additional_args else []
        reply = self._agent.send_sync([Text(task), *data])
        return tool_answer(reply.whole_text, asks=reply.is_question, is_kept=False)
