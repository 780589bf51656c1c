"""A task that a remote agent does for a crew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from crewai.agents.parser import AgentFinish
from crewai.events import crewai_event_bus
from crewai.events.types.agent_events import (
    AgentExecutionCompletedEvent,
    AgentExecutionErrorEvent,
    AgentExecutionStartedEvent,
)
from crewai.utilities.file_store import get_all_files

from a2a_adapters import AgentReply, AuthRequired, Data, InputRequired, Part, Text, as_text
from a2a_adapters_crewai.calling.messages import to_files

if TYPE_CHECKING:
    from types import TracebackType

    from crewai import Crew, Task
    from crewai.agents.agent_builder.base_agent import BaseAgent
    from crewai.utilities.types import LLMMessage


class Work:
    """One task of one agent: what is sent, what came back, and what crewai is told of it."""

    def __init__(self, agent: BaseAgent, task: Task, context: str | None) -> None:
        self.task = task
        self._agent = agent
        self._prompt = task.prompt()
        if context:
            self._prompt += f"\n\nThis is the context you're working with:\n{context}"
        self.answer = AgentFinish(thought="", output="", text="")

    @property
    def parts(self) -> list[Part]:
        """What is sent."""
        crew = crew_of(self._agent)
        files = get_all_files(crew.id, self.task.id) if crew else None
        return [Text(self._prompt), *to_files(files or {})]

    def take(self, reply: AgentReply) -> None:
        """Note the agent's answer; for a task with structured output it is the data alone."""
        is_structured = bool(self.task.output_pydantic or self.task.output_json)
        is_data_alone = is_structured and bool(reply.data)
        text = as_text([Data(reply.data[0])]) if is_data_alone else reply.whole_text
        self.answer = AgentFinish(thought="", output=text, text=text)

    def end(self) -> str:
        """Return the task's output."""
        text = str(self.answer.output)
        done = AgentExecutionCompletedEvent(agent=self._agent, task=self.task, output=text)
        crewai_event_bus.emit(self._agent, event=done)
        return text

    def __enter__(self) -> Self:
        begun = AgentExecutionStartedEvent(
            agent=self._agent, tools=None, task_prompt=self._prompt, task=self.task
        )
        crewai_event_bus.emit(self._agent, event=begun)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            failed = AgentExecutionErrorEvent(
                agent=self._agent, task=self.task, error=str(error) or type(error).__name__
            )
            crewai_event_bus.emit(self._agent, event=failed)


class Review:
    """What crewai's human input needs of whoever does a task (`ExecutorContext`)."""

    def __init__(self, agent: BaseAgent, work: Work) -> None:
        self.agent: Any = agent
        self.task: Task | None = work.task
        self.crew = crew_of(agent)
        self.llm: Any = None
        self.messages: list[LLMMessage] = []
        self.ask_for_human_input = True
        self._work = work

    def _is_training_mode(self) -> bool:
        return False

    def _handle_crew_training_output(
        self, result: AgentFinish, human_feedback: str | None = None
    ) -> None:
        """Do nothing: a remote agent cannot be trained."""

    def _format_feedback_message(self, feedback: str) -> LLMMessage:
        return {"role": "user", "content": feedback}

    def _invoke_loop(self) -> AgentFinish:
        self._work.take(self.agent.ask(self._wish()))
        return self._work.answer

    async def _ainvoke_loop(self) -> AgentFinish:
        self._work.take(await self.agent.aask(self._wish()))
        return self._work.answer

    def _wish(self) -> list[Part]:
        """Return what is to be changed."""
        return [Text(str(self.messages[-1]["content"]))]


def crew_of(agent: BaseAgent) -> Crew | None:
    """Return the crew that an agent works in; crewai may keep its name alone."""
    return None if isinstance(agent.crew, str) else agent.crew


def question_of(reply: AgentReply) -> InputRequired:
    """Return what a remote agent asks, to be asked on."""
    kind = AuthRequired if reply.state == "auth-required" else InputRequired
    others = [part for part in reply.status_parts if not isinstance(part, Text)]
    return kind(reply.text, others)
