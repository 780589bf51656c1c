"""A remote agent, or one of its skills, as a tool; the agents of a fleet as tools."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self, Unpack

from autogen_core import CancellationToken, Component
from autogen_core.tools import BaseTool
from pydantic import BaseModel, Field

from a2a_adapters import RemoteAgent, ReplyState
from a2a_adapters.plugin import (
    AgentOptions,
    LimitedWait,
    ToolDescription,
    ToolInput,
    Toolkit,
    blocking,
    check_arguments,
    tool_answer,
)
from a2a_adapters_autogen.calling.client import RemoteConfig, remote_config
from a2a_adapters_autogen.calling.messages import restored, saved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.plugin import FleetMember


class A2AToolResult(BaseModel):
    """The agent's answer; `text` includes data and the names of files."""

    text: str
    data: list[Any] = Field(default_factory=list)
    state: ReplyState
    task_id: str
    context_id: str


class A2AToolConfig(RemoteConfig):
    """The tool's serializable configuration."""

    name: str
    description: str
    skill_id: str = ""
    wait: float | None = None


class A2ATool(BaseTool[ToolInput, A2AToolResult], Component[A2AToolConfig]):
    """Any A2A agent as a tool: `await A2ATool.afrom_agent("http://localhost:8000")`.

    All calls are one conversation with the agent, and when it asks a question, the next
    call answers it. So give every agent, or every run, its own tool; they can share a
    `RemoteAgent`.
    Errors are returned to the model as the result of the call.

    Args:
        agent: The agent, or its URL.
        name: The tool's name.
        description: The description that the model sees.
        skill_id: Sent along as metadata `skill_id`, if the tool stands for one skill.
        wait: Maximum time in seconds that a call waits for the answer. The next call resumes
            waiting. None waits as long as the agent's timeout allows.
        **options: Options for an agent given by its URL; see `AgentOptions`. With `headers`, the
            object cannot be dumped, because they may be credentials.
    """

    component_config_schema = A2AToolConfig
    component_provider_override = "a2a_adapters_autogen.A2ATool"

    def __init__(
        self,
        agent: RemoteAgent | str,
        name: str,
        description: str,
        *,
        skill_id: str = "",
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        check_arguments(A2ATool, locals(), {"wait"})
        super().__init__(ToolInput, A2AToolResult, name, description)
        self._given = agent, options
        self._agent = RemoteAgent.of(agent, **options)
        self._skill_id = skill_id
        self._conversation = self._agent.conversation()
        self._wait = wait
        self._limited = None if wait is None else LimitedWait(self._agent, wait)

    @classmethod
    def from_agent(
        cls,
        agent: RemoteAgent | str,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """Return a tool for an agent, named and described by its card.

        Raises:
            RemoteAgentError: The card cannot be read.
        """
        return blocking.run(cls.afrom_agent(agent, wait=wait, **options))

    @classmethod
    async def afrom_agent(
        cls,
        agent: RemoteAgent | str,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """`from_agent` in async code."""
        about = await RemoteAgent.of(agent, **options).describe()
        return cls._of(agent, ToolDescription.of_agent(about), wait, options)

    @classmethod
    def per_skill(
        cls,
        agent: RemoteAgent | str,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> list[Self]:
        """Return a tool for each skill of an agent's card.

        Raises:
            RemoteAgentError: The card cannot be read.
        """
        return blocking.run(cls.aper_skill(agent, wait=wait, **options))

    @classmethod
    async def aper_skill(
        cls,
        agent: RemoteAgent | str,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> list[Self]:
        """`per_skill` in async code."""
        skills = (await RemoteAgent.of(agent, **options).describe()).skills
        return [cls._of(agent, ToolDescription.of_skill(skill), wait, options) for skill in skills]

    @classmethod
    def of_member(cls, member: FleetMember) -> Self:
        """Return the tool of an agent of a fleet."""
        return cls._of(member.agent, member.tool, member.wait, {})

    async def run(self, args: ToolInput, cancellation_token: CancellationToken) -> A2AToolResult:
        """Ask the agent.

        Raises:
            RemoteAgentError: The agent does not answer.
        """
        skill = self._skill_id or None
        if self._limited is not None:
            asking = self._limited.ask("", args.message, skill)
        else:
            asking = self._conversation.send(args.message, skill=skill)
        sending = asyncio.ensure_future(asking)
        cancellation_token.link_future(sending)
        reply = await sending
        return A2AToolResult(
            text=reply.whole_text,
            data=reply.data,
            state=reply.state,
            task_id=reply.task_id,
            context_id=reply.context_id,
        )

    def return_value_as_string(self, value: Any) -> str:
        """Format an answer for the model."""
        result = A2AToolResult.model_validate(value)
        asks = result.state in {"input-required", "auth-required"}
        is_working = result.state in {"submitted", "working"}
        return tool_answer(result.text, asks=asks, is_working=is_working)

    async def save_state_json(self) -> Mapping[str, Any]:
        """Return the context id, and the id of the task that waits, if any."""
        return saved(self._conversation)

    async def load_state_json(self, state: Mapping[str, Any]) -> None:
        """Continue the conversation of a saved state."""
        self._conversation = restored(self._agent, state)

    @classmethod
    def _of(
        cls,
        agent: RemoteAgent | str,
        tool: ToolDescription,
        wait: float | None,
        options: AgentOptions,
    ) -> Self:
        skill_id = tool.skill_id or ""
        return cls(agent, tool.name, tool.description, skill_id=skill_id, wait=wait, **options)

    def _to_config(self) -> A2AToolConfig:
        return A2AToolConfig(
            **remote_config(*self._given).model_dump(),
            name=self.name,
            description=self.description,
            skill_id=self._skill_id,
            wait=self._wait,
        )

    @classmethod
    def _from_config(cls, config: A2AToolConfig) -> Self:
        return cls(
            config.url,
            config.name,
            config.description,
            skill_id=config.skill_id,
            wait=config.wait,
            **config.options(),
        )


class A2AToolkit(Toolkit[A2ATool]):
    """A tool for each agent of a fleet, see `Toolkit`.

    All calls of a tool are one conversation, so call `get_tools` for every agent or run.
    """

    @staticmethod
    def _tool(member: FleetMember) -> A2ATool:
        return A2ATool.of_member(member)
