"""Remote agents as tools that crewai's agents may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Self, Unpack

from crewai.context import get_current_task_id
from crewai.flow.flow_context import current_flow_id
from crewai.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field

from a2a_adapters import AgentReply, RemoteAgent, RemoteAgentError, ToolDescription, tool_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import JSON, AgentOptions, Conversation


class A2AToolInput(BaseModel):
    """What a model gives to the tool."""

    message: str = Field(description="What to ask the agent or tell it, in full sentences.")


def _never(*_: object) -> bool:
    """An agent may answer the same question differently."""
    return False


class A2ATool(BaseTool):
    """A remote agent, or one of its skills, as a tool: `A2ATool.from_url("http://...")`.

    Within a task (or a lone agent's kickoff, or a flow) all calls are one conversation with the
    agent, and when it asks back, the next call is the answer. What goes wrong is told to the model
    as the tool's result; nothing is sent twice for it.

    Attributes:
        agent: The agent, or its URL.
        skill_id: Sent along as metadata `skill_id`, if the tool stands for one skill.
    """

    model_config = ConfigDict(extra="forbid")

    agent: RemoteAgent
    skill_id: str | None = None
    args_schema: type[BaseModel] = A2AToolInput
    cache_function: Callable[..., bool] = _never

    @classmethod
    def from_url(cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> Self:
        """Return a tool for an agent, named and described by its card.

        Args:
            agent: The agent, or its URL.
            **options: Options for an agent given by its URL; see `AgentOptions`.

        Raises:
            RemoteAgentError: The card cannot be had.
        """
        remote = RemoteAgent.of(agent, **options)
        return cls._of(remote, ToolDescription.of_agent(remote.describe_sync()))

    @classmethod
    def per_skill(cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> list[Self]:
        """Return a tool for each skill of an agent's card; for the arguments see `from_url`.

        Raises:
            RemoteAgentError: The card cannot be had.
        """
        remote = RemoteAgent.of(agent, **options)
        skills = remote.describe_sync().skills
        return [cls._of(remote, ToolDescription.of_skill(skill)) for skill in skills]

    @classmethod
    def _of(cls, agent: RemoteAgent, tool: ToolDescription) -> Self:
        return cls(agent=agent, **asdict(tool))

    def _run(self, message: str) -> str:
        conversation, is_kept = self._conversation()
        try:
            reply = conversation.send_sync(message, metadata=self._metadata())
        except RemoteAgentError as error:
            return _failure(error)
        return _result(reply, is_kept=is_kept)

    async def _arun(self, message: str) -> str:
        conversation, is_kept = self._conversation()
        try:
            reply = await conversation.send(message, metadata=self._metadata())
        except RemoteAgentError as error:
            return _failure(error)
        return _result(reply, is_kept=is_kept)

    def _conversation(self) -> tuple[Conversation, bool]:
        """Return the conversation of what uses the tool now, and whether it is found again.

        A tool is shared by all copies of a crew, their tasks and flows are not.
        """
        user = get_current_task_id() or current_flow_id.get()
        key = f"{user}/{self.name}" if user else None
        return self.agent.conversation(key), key is not None

    def _metadata(self) -> Mapping[str, JSON] | None:
        return {"skill_id": self.skill_id} if self.skill_id else None


def _result(reply: AgentReply, *, is_kept: bool) -> str:
    return tool_answer(reply.whole_text, asks=reply.is_question, is_kept=is_kept)


def _failure(error: RemoteAgentError) -> str:
    """Return what a model can make of an error."""
    return f"The agent did not do it: {error}. Try something else, or go on without it."
