"""A remote agent, or one of its skills, as a tool; the agents of a fleet as tools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, Self

from langchain_core.runnables import RunnableConfig  # noqa: TC002 - LangChain reads annotations
from langchain_core.tools import BaseTool, BaseToolkit, ToolException
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr
from typing_extensions import override

from a2a_adapters import AgentReply, Fleet, RemoteAgent, RemoteAgentError
from a2a_adapters.plugin import LimitedWait, ToolDescription, ToolFactory, ToolInput, tool_answer
from a2a_adapters_langchain.calling.model import CallOptions, answered_task, thread_of
from a2a_adapters_langchain.serving.content import to_block

if TYPE_CHECKING:
    from a2a_adapters import Conversation
    from a2a_adapters.plugin import AnyFleet


class A2ATool(ToolFactory, BaseTool):
    """A remote agent, or one of its skills, as a tool: `A2ATool.from_agent("http://...")`.

    Within a thread (`config["configurable"]["thread_id"]`) all calls of the tool are one
    conversation with the agent, and the next call after a question is the reply. The model
    receives errors as results with the status "error".

    The artifact of a result has `task_id`, `context_id`, `state`, and the answer's `data` and
    `files` (as content blocks).

    Attributes:
        agent: The agent, or its URL.
        skill_id: The skill that the tool stands for; sent as metadata `skill_id`.
        wait: Maximum time in seconds that a call waits for the answer. The next call in the thread
            resumes waiting. None waits as long as the agent's timeout allows.
    """

    model_config = ConfigDict(extra="forbid")

    agent: RemoteAgent
    skill_id: str | None = None
    wait: float | None = Field(default=None, gt=0)
    args_schema: type[BaseModel] = ToolInput
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: bool | str | None = True
    handle_validation_error: bool | str | None = True
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

    @override
    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        if self.wait is not None:
            self._limited = LimitedWait(self.agent, self.wait)

    @classmethod
    @override
    def _of(cls, agent: RemoteAgent, tool: ToolDescription, wait: float | None) -> Self:
        return cls(agent=agent, wait=wait, **asdict(tool))

    def _run(self, message: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        with _as_tool_exception():
            if self._limited is not None:
                reply = self._limited.ask_sync(self._key(config), message, self.skill_id)
            else:
                conversation, options = self._call(config)
                reply = conversation.send_sync(message, **options)
        return _result(reply, has_thread=thread_of(config) is not None)

    async def _arun(self, message: str, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        with _as_tool_exception():
            if self._limited is not None:
                reply = await self._limited.ask(self._key(config), message, self.skill_id)
            else:
                conversation, options = self._call(config)
                reply = await conversation.send(message, **options)
        return _result(reply, has_thread=thread_of(config) is not None)

    def _call(self, config: RunnableConfig) -> tuple[Conversation, CallOptions]:
        conversation = self.agent.conversation(self._key(config))
        task_id = answered_task(conversation, config)
        return conversation, CallOptions(skill=self.skill_id or None, task_id=task_id)

    def _key(self, config: RunnableConfig) -> str | None:
        key = thread_of(config)
        if key is not None and self.skill_id:  # one skill must not answer the question of another
            return f"{key} {self.skill_id}"
        return key


@contextmanager
def _as_tool_exception() -> Iterator[None]:
    try:
        yield
    except RemoteAgentError as error:
        raise ToolException(str(error)) from error


def _result(reply: AgentReply, *, has_thread: bool) -> tuple[str, dict[str, Any]]:
    artifact = {
        "task_id": reply.task_id,
        "context_id": reply.context_id,
        "state": reply.state,
        "data": reply.data,
        "files": [to_block(file) for file in reply.files],
    }
    text = tool_answer(
        reply.whole_text,
        asks=reply.is_question,
        is_kept=has_thread,
        is_working=reply.state in {"submitted", "working"},
    )
    return text, artifact


class A2AToolkit(BaseToolkit):
    """A tool for each agent of a fleet: `A2AToolkit({"poet": "http://..."}).get_tools()`.

    Agents that are down are left out; call `get_tools` again to include them once they are back.

    Args:
        agents: A `Fleet`, or its agents by the names of their tools: URLs, settings, or
            `RemoteAgent`s.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    fleet: Fleet

    def __init__(self, agents: AnyFleet) -> None:
        super().__init__(fleet=Fleet.of(agents))  # type: ignore[call-arg]

    def get_tools(self) -> list[BaseTool]:
        """Return the tools of the reachable agents, in their order."""
        return [A2ATool.of_member(member) for member in self.fleet.members_sync()]

    async def aget_tools(self) -> list[BaseTool]:
        """`get_tools` in async code."""
        return [A2ATool.of_member(member) for member in await self.fleet.members()]
