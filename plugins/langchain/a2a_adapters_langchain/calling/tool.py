"""Remote agents as tools that a model may call."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, BaseToolkit, ToolException
from pydantic import BaseModel, ConfigDict, Field

from a2a_adapters import AgentReply, RemoteAgent, RemoteAgentError, ToolDescription, tool_answer
from a2a_adapters_langchain.calling.model import answered_task, thread_of
from a2a_adapters_langchain.serving.content import to_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import JSON, AgentOptions, Conversation


class A2AToolInput(BaseModel):
    """What a model gives to the tool."""

    message: str = Field(description="What to ask the agent or tell it, in full sentences.")


class A2ATool(BaseTool):
    """A remote agent, or one of its skills, as a tool: `A2ATool.from_agent("http://...")`.

    Within a thread (`config["configurable"]["thread_id"]`) all calls of the tool are one
    conversation with the agent, and when it asks back, the next call is the answer. What goes
    wrong is told to the model as the result of the call, with status "error".

    The artifact of the result holds `task_id`, `context_id`, `state`, and the answer's `data` and
    `files` (as content blocks).

    Attributes:
        agent: The agent, or its URL.
        skill_id: Sent along as metadata `skill_id`, if the tool stands for one skill.
    """

    model_config = ConfigDict(extra="forbid")

    agent: RemoteAgent
    skill_id: str | None = None
    args_schema: type[BaseModel] = A2AToolInput
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool | str | None = True
    handle_validation_error: bool | str | None = True

    @classmethod
    def from_agent(cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> Self:
        """Return a tool for an agent, named and described by its card.

        Args:
            agent: The agent, or its URL.
            **options: For an agent that is given by its URL; see `AgentOptions`.

        Raises:
            RemoteAgentError: The card cannot be had.
        """
        remote = RemoteAgent.of(agent, **options)
        return cls._of(remote, ToolDescription.of_agent(remote.describe_sync()))

    @classmethod
    async def afrom_agent(cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> Self:
        """`from_agent` in async code."""
        remote = RemoteAgent.of(agent, **options)
        return cls._of(remote, ToolDescription.of_agent(await remote.describe()))

    @classmethod
    def per_skill(cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> list[Self]:
        """Return a tool for each skill of an agent's card; for the arguments see `from_agent`.

        Raises:
            RemoteAgentError: The card cannot be had.
        """
        remote = RemoteAgent.of(agent, **options)
        skills = remote.describe_sync().skills
        return [cls._of(remote, ToolDescription.of_skill(skill)) for skill in skills]

    @classmethod
    async def aper_skill(
        cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]
    ) -> list[Self]:
        """`per_skill` in async code."""
        remote = RemoteAgent.of(agent, **options)
        skills = (await remote.describe()).skills
        return [cls._of(remote, ToolDescription.of_skill(skill)) for skill in skills]

    @classmethod
    def _of(cls, agent: RemoteAgent, tool: ToolDescription) -> Self:
        return cls(agent=agent, **asdict(tool))

    def _run(self, message: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        conversation, thread = self._conversation(config)
        try:
            task_id = answered_task(conversation, config)
            reply = conversation.send_sync(message, task_id=task_id, metadata=self._metadata())
        except RemoteAgentError as error:
            raise ToolException(str(error)) from error
        return _result(reply, has_thread=thread is not None)

    async def _arun(self, message: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        conversation, thread = self._conversation(config)
        try:
            task_id = answered_task(conversation, config)
            reply = await conversation.send(message, task_id=task_id, metadata=self._metadata())
        except RemoteAgentError as error:
            raise ToolException(str(error)) from error
        return _result(reply, has_thread=thread is not None)

    def _conversation(self, config: RunnableConfig) -> tuple[Conversation, str | None]:
        thread = thread_of(config)
        # A question of one skill must not be answered by a call of another.
        key = f"{thread} {self.skill_id}" if thread is not None and self.skill_id else thread
        return self.agent.conversation(key), thread

    def _metadata(self) -> Mapping[str, JSON] | None:
        return {"skill_id": self.skill_id} if self.skill_id else None


def _result(reply: AgentReply, *, has_thread: bool) -> tuple[str, dict[str, Any]]:
    artifact = {
        "task_id": reply.task_id,
        "context_id": reply.context_id,
        "state": reply.state,
        "data": reply.data,
        "files": [to_block(file) for file in reply.files],
    }
    return tool_answer(reply.whole_text, asks=reply.is_question, is_kept=has_thread), artifact


_STEM_LENGTH = 60


class A2AToolkit(BaseToolkit):
    """A tool for each of several agents: `A2AToolkit.from_urls([...]).get_tools()`.

    Tools whose agents have the same name are numbered.
    """

    tools: list[A2ATool]

    @classmethod
    def from_urls(
        cls, agents: Iterable[str | RemoteAgent], **options: Unpack[AgentOptions]
    ) -> Self:
        """Return a toolkit for agents, given by URL or as `RemoteAgent`.

        Args:
            agents: The agents.
            **options: For all agents, if they are given by their URLs; see `AgentOptions`.

        Raises:
            RemoteAgentError: A card cannot be had.
        """
        return cls(tools=_numbered([A2ATool.from_agent(agent, **options) for agent in agents]))

    @classmethod
    async def afrom_urls(
        cls, agents: Iterable[str | RemoteAgent], **options: Unpack[AgentOptions]
    ) -> Self:
        """`from_urls` in async code; reads all cards at once."""
        tools = await asyncio.gather(*(A2ATool.afrom_agent(agent, **options) for agent in agents))
        return cls(tools=_numbered(tools))

    def get_tools(self) -> list[BaseTool]:
        """Return the tools."""
        return list(self.tools)


def _numbered(tools: Sequence[A2ATool]) -> list[A2ATool]:
    taken = {tool.name for tool in tools}
    seen: set[str] = set()
    numbered = []
    for tool in tools:
        name = tool.name
        if name in seen:
            candidates = (f"{name[:_STEM_LENGTH]}_{number}" for number in count(2))
            name = next(candidate for candidate in candidates if candidate not in taken)
        seen.add(name)
        taken.add(name)
        numbered.append(tool.model_copy(update={"name": name}))
    return numbered
