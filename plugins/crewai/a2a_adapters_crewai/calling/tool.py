"""A remote agent, or one of its skills, as a tool of crewai's agents; a fleet as tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self, Unpack

from crewai.context import get_current_task_id
from crewai.flow.flow_context import current_flow_id
from crewai.tools import BaseTool
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from a2a_adapters import AgentReply, RemoteAgent, RemoteAgentError
from a2a_adapters.plugin import (
    LimitedWait,
    ToolDescription,
    ToolFactory,
    ToolInput,
    Toolkit,
    blocking,
    tool_answer,
)

if TYPE_CHECKING:
    from a2a_adapters.plugin import AgentOptions, FleetMember


def _never(*_: object) -> bool:
    return False  # an agent may answer the same question differently


class A2ATool(ToolFactory, BaseTool):
    """A remote agent, or one of its skills, as a tool: `A2ATool.from_url("http://...")`.

    All calls within a task, a flow, or the kickoff of an agent outside of crews are one
    conversation with the agent. When the agent asks a question, the next call answers it. Errors
    are returned to the model as the tool's result, and nothing is sent twice.

    Attributes:
        agent: The agent, or its URL.
        skill_id: Sent along as metadata `skill_id`, if the tool stands for one skill.
        wait: Maximum time in seconds that a call waits for the answer. The next call in the task
            resumes waiting. None waits as long as the agent's timeout allows.
    """

    model_config = ConfigDict(extra="forbid")

    agent: RemoteAgent
    skill_id: str | None = None
    wait: float | None = Field(default=None, gt=0)
    args_schema: type[BaseModel] = ToolInput
    cache_function: Callable[..., bool] = _never
    _limited: LimitedWait | None = PrivateAttr(None)

    if TYPE_CHECKING:  # otherwise type checkers derive one from the fields, which takes no URL

        def __init__(
            self,
            *,
            agent: RemoteAgent | str,
            name: str,
            description: str,
            skill_id: str | None = None,
            wait: float | None = None,
            **fields: Any,
        ) -> None: ...

    def model_post_init(self, context: Any, /) -> None:
        """Prepare calls that wait a limited time."""
        super().model_post_init(context)
        if self.wait is not None:
            self._limited = LimitedWait(self.agent, self.wait)

    @classmethod
    def from_url(
        cls,
        agent: str | RemoteAgent,
        *,
        wait: float | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """Return a tool for an agent, named and described by its card; the same as `from_agent`."""
        return cls.from_agent(agent, wait=wait, **options)

    @classmethod
    def _of(cls, agent: RemoteAgent, tool: ToolDescription, wait: float | None) -> Self:
        return cls(agent=agent, wait=wait, **asdict(tool))

    def _run(self, message: str) -> str:
        return blocking.run(self._arun(message))

    async def _arun(self, message: str) -> str:
        key = self._key()
        try:
            if self._limited is not None:
                reply = await self._limited.ask(key, message, self.skill_id)
            else:
                conversation = self.agent.conversation(key)
                reply = await conversation.send(message, skill=self.skill_id)
        except RemoteAgentError as error:
            return _failure(error)
        return _result(reply, is_kept=key is not None)

    def _key(self) -> str | None:
        """Return the name of the conversation of the current task or flow, if there is one.

        All copies of a crew share a tool, but not their tasks and flows.
        """
        owner = get_current_task_id() or current_flow_id.get()
        return f"{owner}/{self.name}" if owner else None


def _result(reply: AgentReply, *, is_kept: bool) -> str:
    return tool_answer(
        reply.whole_text,
        asks=reply.is_question,
        is_kept=is_kept,
        is_working=reply.state in {"submitted", "working"},
    )


def _failure(error: RemoteAgentError) -> str:
    """Return an error as text for the model."""
    return f"The agent did not do it: {error}. Try something else, or go on without it."


class A2AToolkit(Toolkit[A2ATool]):
    """A tool for each agent of a fleet, see `Toolkit`."""

    @staticmethod
    def _tool(member: FleetMember) -> A2ATool:
        return A2ATool.of_member(member)
