"""A remote agent as a member of a crew."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from crewai.agents.agent_builder.base_agent import BaseAgent
from crewai.context import get_current_task_id
from crewai.core.providers.human_input import get_provider
from pydantic import ConfigDict, PrivateAttr
from typing_extensions import override

from a2a_adapters import AgentReply, Conversation, Part, RemoteAgent
from a2a_adapters_crewai.calling.messages import usage_of
from a2a_adapters_crewai.calling.work import Review, Work, question_of
from a2a_adapters_crewai.serving.run import current_run

if TYPE_CHECKING:
    from crewai import Task
    from crewai.tools import BaseTool
    from crewai.utilities.types import LLMMessage

    from a2a_adapters import AgentOptions


class A2AAgent(BaseAgent):
    """Any A2A agent as a member of a crew, without a model here: `A2AAgent.from_url("http://...")`.

    It is sent a task's prompt, the context that crewai makes of earlier tasks, and the crew's input
    files. Its answer is the task's output: text, data as JSON, and the names of files; `replies`
    has them whole. Role, goal and back story are not sent: the agent has its own. All it is asked
    within a task is one conversation.

    When it asks back, the caller of a served crew is asked; elsewhere its question is the output.
    A task with `human_input` is reviewed, and what is to be changed is sent to the agent.

    Attributes:
        agent: The agent, or its URL.
    """

    model_config = ConfigDict(extra="forbid")

    agent: RemoteAgent
    backstory: str = ""
    # Crews read and set these two on every agent, though `BaseAgent` does not declare them.
    function_calling_llm: Any = None
    step_callback: Any = None

    _conversations: dict[str, Conversation] = PrivateAttr(default_factory=dict)
    _replies: list[AgentReply] = PrivateAttr(default_factory=list)

    @classmethod
    def from_url(
        cls,
        agent: str | RemoteAgent,
        *,
        role: str | None = None,
        goal: str | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """Return an agent with the name and the description of its card as role and goal.

        Args:
            agent: The agent, or its URL.
            role: Its role in place of the card's name.
            goal: Its goal in place of the card's description.
            **options: Options for an agent given by its URL; see `AgentOptions`.

        Raises:
            RemoteAgentError: The card cannot be had.
        """
        remote = RemoteAgent.of(agent, **options)
        about = remote.describe_sync()
        return cls(agent=remote, role=role or about.name, goal=goal or about.description)

    @property
    def replies(self) -> Sequence[AgentReply]:
        """What the remote agent has answered since the crew was kicked off."""
        return tuple(self._replies)

    @property
    def last_messages(self) -> list[LLMMessage]:
        """None; crewai asks for the messages of a model."""
        return []

    @override
    def execute_task(
        self, task: Task, context: str | None = None, tools: list[BaseTool] | None = None
    ) -> str:
        """Send a task to the agent and return its answer.

        Raises:
            RemoteAgentError: There is none.
        """
        with Work(self, task, context) as work:
            work.take(self.ask(work.parts))
            if task.human_input:
                work.answer = get_provider().handle_feedback(work.answer, Review(self, work))
            return work.end()

    @override
    async def aexecute_task(
        self, task: Task, context: str | None = None, tools: list[BaseTool] | None = None
    ) -> str:
        """`execute_task` in async code."""
        with Work(self, task, context) as work:
            work.take(await self.aask(work.parts))
            if task.human_input:
                review = Review(self, work)
                work.answer = await get_provider().handle_feedback_async(work.answer, review)
            return work.end()

    def ask(self, parts: Sequence[Part]) -> AgentReply:
        """Send a message in the current task's conversation; blocks."""
        conversation = self._conversation()
        reply = self._note(conversation.send_sync(parts))
        while reply.is_question and (run := current_run.get()):
            answer = run.ask(question_of(reply)).result()
            reply = self._note(conversation.send_sync(answer.parts))
        return reply

    async def aask(self, parts: Sequence[Part]) -> AgentReply:
        """`ask` in async code."""
        conversation = self._conversation()
        reply = self._note(await conversation.send(parts))
        while reply.is_question and (run := current_run.get()):
            answer = await asyncio.wrap_future(run.ask(question_of(reply)))
            reply = self._note(await conversation.send(answer.parts))
        return reply

    @override
    def create_agent_executor(self, tools: list[BaseTool] | None = None) -> None:
        """Begin anew: crews call this once when they are kicked off."""
        self._conversations.clear()
        self._replies.clear()

    @override
    def get_delegation_tools(self, agents: Sequence[BaseAgent]) -> list[BaseTool]:
        """None: the agent has its own tools."""
        return []

    @override
    def get_platform_tools(self, apps: Any) -> list[BaseTool]:
        """None: the agent has its own tools."""
        return []

    @override
    def get_mcp_tools(self, mcps: Any) -> list[BaseTool]:
        """None: the agent has its own tools."""
        return []

    def _conversation(self) -> Conversation:
        key = get_current_task_id() or ""
        return self._conversations.setdefault(key, self.agent.conversation())

    def _note(self, reply: AgentReply) -> AgentReply:
        self._replies.append(reply)
        usage = usage_of(reply)
        self._token_process.sum_prompt_tokens(usage.get("prompt_tokens", 0))
        self._token_process.sum_completion_tokens(usage.get("completion_tokens", 0))
        return reply
