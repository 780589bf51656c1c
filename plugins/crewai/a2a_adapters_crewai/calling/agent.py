"""A remote agent as a member of a crew."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, Unpack

from crewai.agents.agent_builder.base_agent import BaseAgent
from crewai.agents.parser import AgentFinish
from crewai.context import get_current_task_id
from crewai.core.providers.human_input import get_provider
from crewai.events import crewai_event_bus
from crewai.events.types.agent_events import (
    AgentExecutionCompletedEvent,
    AgentExecutionErrorEvent,
    AgentExecutionStartedEvent,
)
from crewai.utilities.file_store import get_all_files
from pydantic import ConfigDict, PrivateAttr
from typing_extensions import override

from a2a_adapters import (
    AgentReply,
    AuthRequired,
    Conversation,
    Data,
    InputRequired,
    Part,
    RemoteAgent,
    Text,
)
from a2a_adapters.plugin import as_text, blocking
from a2a_adapters_crewai.calling.messages import to_files
from a2a_adapters_crewai.serving.crew_run import current_run

if TYPE_CHECKING:
    from crewai import Crew, Task
    from crewai.tools import BaseTool
    from crewai.utilities.types import LLMMessage

    from a2a_adapters.plugin import AgentOptions


class A2AAgent(BaseAgent):
    """Any A2A agent as a member of a crew, without a local model: `A2AAgent.from_url("http://...")`.

    It sends a task's prompt, the context from earlier tasks, and the crew's input files. The answer
    is the task's output: text, data as JSON, and the names of files; `replies` has the whole
    answers. Role, goal and back story are not sent, because the agent has its own. All messages
    within a task are one conversation.

    A question of the agent is sent to the caller of a served crew; elsewhere it is the output. A
    task with `human_input` is reviewed, and the requested changes are sent to the agent.

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

    if TYPE_CHECKING:  # otherwise type checkers derive one from the fields, which takes no URL

        def __init__(
            self, *, agent: RemoteAgent | str, role: str, goal: str, **fields: Any
        ) -> None: ...

    @classmethod
    def from_url(
        cls,
        agent: str | RemoteAgent,
        *,
        role: str | None = None,
        goal: str | None = None,
        **options: Unpack[AgentOptions],
    ) -> Self:
        """Return an agent with the name and description of its card as role and goal.

        Args:
            agent: The agent, or its URL.
            role: The role, in place of the card's name.
            goal: The goal, in place of the card's description.
            **options: Options for an agent given by its URL; see `AgentOptions`.

        Raises:
            RemoteAgentError: The card cannot be read.
        """
        remote = RemoteAgent.of(agent, **options)
        about = remote.describe_sync()
        return cls(agent=remote, role=role or about.name, goal=goal or about.description)

    @property
    def replies(self) -> Sequence[AgentReply]:
        """The remote agent's answers since the crew was kicked off."""
        return tuple(self._replies)

    @property
    def last_messages(self) -> list[LLMMessage]:
        """Empty: the messages of a local model, which this agent does not have."""
        return []

    @override
    def execute_task(
        self, task: Task, context: str | None = None, tools: list[BaseTool] | None = None
    ) -> str:
        """Send a task to the agent and return its answer.

        Raises:
            RemoteAgentError: The agent does not answer.
        """
        with self._reported(task, context) as work:
            work.take(self.ask(work.parts))
            if task.human_input:
                work.answer = get_provider().handle_feedback(work.answer, work)
        return work.output

    @override
    async def aexecute_task(
        self, task: Task, context: str | None = None, tools: list[BaseTool] | None = None
    ) -> str:
        """`execute_task` in async code."""
        with self._reported(task, context) as work:
            work.take(await self.aask(work.parts))
            if task.human_input:
                work.answer = await get_provider().handle_feedback_async(work.answer, work)
        return work.output

    async def aask(self, parts: Sequence[Part]) -> AgentReply:
        """Send a message in the current task's conversation."""
        conversation = self._conversation()
        reply = self._record(await conversation.send(parts))
        while reply.is_question and (run := current_run.get()):
            answer = await asyncio.wrap_future(run.ask(_question_of(reply)))
            reply = self._record(await conversation.send(answer.parts))
        return reply

    ask = blocking.running(aask)

    @override
    def create_agent_executor(self, tools: list[BaseTool] | None = None) -> None:
        """Forget earlier conversations: crews call this once when they are kicked off."""
        self._conversations.clear()
        self._replies.clear()

    @override
    def get_delegation_tools(self, agents: Sequence[BaseAgent]) -> list[BaseTool]:
        """Return no tools: the agent has its own."""
        return []

    @override
    def get_platform_tools(self, apps: Any) -> list[BaseTool]:
        """Return no tools: the agent has its own."""
        return []

    @override
    def get_mcp_tools(self, mcps: Any) -> list[BaseTool]:
        """Return no tools: the agent has its own."""
        return []

    def _conversation(self) -> Conversation:
        key = get_current_task_id() or ""
        return self._conversations.setdefault(key, self.agent.conversation())

    def _record(self, reply: AgentReply) -> AgentReply:
        self._replies.append(reply)
        if usage := reply.usage:  # tasks count the calls of models only
            self._token_process.sum_prompt_tokens(usage.input_tokens)
            self._token_process.sum_completion_tokens(usage.output_tokens)
        return reply

    @contextmanager
    def _reported(self, task: Task, context: str | None) -> Iterator[_Work]:
        """Report a task's start, and its end or failure, to crewai."""
        work = _Work(self, task, context)
        started = AgentExecutionStartedEvent(
            agent=self, tools=None, task_prompt=work.prompt, task=task
        )
        crewai_event_bus.emit(self, event=started)
        try:
            yield work
        except BaseException as error:
            reason = str(error) or type(error).__name__
            failed = AgentExecutionErrorEvent(agent=self, task=task, error=reason)
            crewai_event_bus.emit(self, event=failed)
            raise
        done = AgentExecutionCompletedEvent(agent=self, task=task, output=work.output)
        crewai_event_bus.emit(self, event=done)


class _Work:
    """A task's prompt and answer, and the `ExecutorContext` of its human review."""

    def __init__(self, agent: A2AAgent, task: Task, context: str | None) -> None:
        self.agent: Any = agent
        self.task: Task | None = task
        # crewai may keep only the crew's name.
        self.crew: Crew | None = None if isinstance(agent.crew, str) else agent.crew
        self.llm: Any = None
        self.messages: list[LLMMessage] = []
        self.ask_for_human_input = True
        self.answer = AgentFinish(thought="", output="", text="")
        self.prompt = task.prompt()
        if context:
            self.prompt += f"\n\nThis is the context you're working with:\n{context}"
        self._files = (get_all_files(self.crew.id, task.id) if self.crew else None) or {}
        self._is_structured = bool(task.output_pydantic or task.output_json)

    @property
    def parts(self) -> list[Part]:
        """The message for the agent."""
        return [Text(self.prompt), *to_files(self._files)]

    @property
    def output(self) -> str:
        """The task's output."""
        return str(self.answer.output)

    def take(self, reply: AgentReply) -> AgentFinish:
        """Convert the agent's answer; of a task with structured output only its data."""
        is_data = self._is_structured and bool(reply.data)
        text = as_text([Data(reply.data[0])]) if is_data else reply.whole_text
        self.answer = AgentFinish(thought="", output=text, text=text)
        return self.answer

    # The private methods below belong to crewai's protocol for human input.

    def _is_training_mode(self) -> bool:
        return False

    def _handle_crew_training_output(
        self, result: AgentFinish, human_feedback: str | None = None
    ) -> None:
        """Do nothing: a remote agent cannot be trained."""

    def _format_feedback_message(self, feedback: str) -> LLMMessage:
        return {"role": "user", "content": feedback}

    def _invoke_loop(self) -> AgentFinish:
        return self.take(self.agent.ask(self._feedback()))

    async def _ainvoke_loop(self) -> AgentFinish:
        return self.take(await self.agent.aask(self._feedback()))

    def _feedback(self) -> list[Part]:
        return [Text(str(self.messages[-1]["content"]))]


def _question_of(reply: AgentReply) -> InputRequired:
    """Return a question of a remote agent as a question for the caller."""
    kind = AuthRequired if reply.state == "auth-required" else InputRequired
    others = [part for part in reply.status_parts if not isinstance(part, Text)]
    return kind(reply.text, others)
