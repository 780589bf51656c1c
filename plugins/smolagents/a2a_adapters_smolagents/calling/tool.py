"""A remote agent, or one of its skills, as a tool, and as a managed agent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Unpack

from smolagents import Tool

from a2a_adapters import Data, RemoteAgent, Skill, Text
from a2a_adapters.plugin import (
    AgentDescription,
    StatelessTool,
    StatelessToolInput,
    ToolDescription,
    as_json,
    tool_answer,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.plugin import AgentOptions


class A2ATool(Tool):  # type: ignore[misc]
    """Any A2A agent as a tool: `CodeAgent(tools=[A2ATool("http://localhost:8000")], ...)`.

    A result contains its context id, and its task id if the agent asks a question. To continue the
    conversation, the model passes these ids to the next call. The tool is stateless: it serves any
    number of runs. If the agent fails, the model sees the reason.

    Args:
        agent: The agent, or its URL.
        about: The description that the model sees: of the agent, or of one of its skills, whose
            id is then sent as metadata `skill_id`. Without it the agent's card is read now.
        wait: Maximum time in seconds that a call waits for the answer. The next call with the
            task's id resumes waiting. None waits as long as the agent's timeout allows.
        **options: Options for an agent given by its URL; see `AgentOptions`.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteAgentError: The card cannot be read.
    """

    output_type = "string"

    def __init__(
        self,
        agent: RemoteAgent | str,
        about: AgentDescription | Skill | None = None,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__()
        self._tool = StatelessTool(RemoteAgent.of(agent, **options), about, wait)
        self.name = identifier(self._tool.name)
        self.description = self._tool.description
        self.inputs: dict[str, Any] = {
            name: {
                "type": "string",
                "description": field.description,
                **({} if field.is_required() else {"nullable": True}),
            }
            for name, field in StatelessToolInput.model_fields.items()
        }

    def forward(
        self, message: str, context_id: str | None = None, task_id: str | None = None
    ) -> str:
        """Return the agent's answer."""
        return self._tool.answer_sync(message, context_id or "", task_id or "")


def identifier(name: str) -> str:
    """Return a name as an identifier of Python, as models write calls in code."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name


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
