"""A crew as an adapter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crewai import Crew, Task, TaskOutput
from crewai.crews.utils import enable_agent_streaming

from a2a_adapters import Adapter, AgentDescription, AgentEvent, AgentRequest, TargetError
from a2a_adapters_crewai._card import describe_crew
from a2a_adapters_crewai._files import input_files
from a2a_adapters_crewai._guard import watch_calls
from a2a_adapters_crewai._inputs import NamedInputs, ReadInputs, crew_inputs
from a2a_adapters_crewai._news import News
from a2a_adapters_crewai._process import tracing_of
from a2a_adapters_crewai._results import crew_output, task_output
from a2a_adapters_crewai._run import Run
from a2a_adapters_crewai._runs import MAX_RUNS, Events, Runs
from a2a_adapters_crewai._targets import as_target


class CrewAdapter(Adapter):
    """Serves crews. Each run has a crew of its own.

    Args:
        crew: A crew that was never kicked off, a class decorated with `@CrewBase` or an object
            of one, or a function that returns a crew.
        input: Makes the crew's inputs of a request, in place of the placeholders' rules. It may
            raise `InvalidInputError`.
        text_key: The placeholder that gets the text, where there are several.
        history_key: The placeholder that gets what was said before in the conversation.
        task_outputs: Whether the outputs of the tasks before the last are sent, too, each as
            soon as it is there.
        tokens: Whether the models' text is reported as progress, word by word. It holds what
            the agents think and what they call tools with.
        max_runs: How many runs work at the same time.
        shared_memory: Whether the crew's memory may tell one caller what another one said.

    Raises:
        TargetError: It is no crew, was kicked off already, ignores what callers say, or has a
            memory that all callers would share.
    """

    def __init__(
        self,
        crew: object,
        *,
        input: ReadInputs | None = None,  # noqa: A002 - as for the other frameworks
        text_key: str | None = None,
        history_key: str | None = None,
        task_outputs: bool = False,
        tokens: bool = False,
        max_runs: int = MAX_RUNS,
        shared_memory: bool = False,
    ) -> None:
        target = as_target(crew)
        example, self._make = target.example, target.make
        if not isinstance(example, Crew):
            raise TargetError(f"{type(example).__name__} is no crew")
        if not shared_memory:
            _refuse_memory(example)
        self._input = input or crew_inputs(example, text_key, history_key)
        self._task_outputs = task_outputs
        self._tokens = tokens
        self._runs = Runs(max_runs)
        self._description = describe_crew(example, self._input)
        self.uses_history = history_key is not None or not isinstance(self._input, NamedInputs)
        watch_calls()

    def describe(self) -> AgentDescription:
        """Describe the crew by its name, its tasks, and its agents' roles and goals."""
        return self._description

    def stream(self, request: AgentRequest) -> Events:
        """Kick off a crew.

        Raises:
            InvalidInputError: The message does not make the crew's inputs.
        """
        inputs = dict(self._input(request))
        files = dict(input_files(request.parts))
        news = News(
            wants_progress=request.wants_progress,
            tokens=self._tokens,
            on_task=_task_outputs if self._task_outputs else None,
        )

        async def kickoff(_: Run) -> tuple[Any, Crew]:
            crew = self._new_crew()
            return await crew.akickoff(inputs=inputs, input_files=files or None), crew

        def finish(result: tuple[Any, Crew]) -> Iterator[AgentEvent]:
            yield from crew_output(*result)
            yield from news.usage()

        run = Run(request, kickoff, news)
        return self._runs.answer(run, finish)

    async def aclose(self) -> None:
        """End the loop of the runs."""
        self._runs.stop()

    def _new_crew(self) -> Crew:
        crew: Crew = self._make()
        crew.stream = False  # a run's own events tell more than the chunks of such a stream
        crew.tracing = tracing_of(crew)
        if self._tokens:
            enable_agent_streaming(crew.agents)
        return crew


def _task_outputs(task: Task, output: TaskOutput) -> Iterator[AgentEvent]:
    """Yield the output of any task but the last, which is the crew's answer."""
    crew = task.agent.crew if task.agent else None
    if isinstance(crew, Crew) and task is not crew.tasks[-1]:
        yield from task_output(output)


def _refuse_memory(crew: Crew) -> None:
    if crew.memory or any(getattr(agent, "memory", None) for agent in crew.agents):
        raise TargetError(
            "this crew has a memory, which would tell every caller what the others have said; "
            "use adapt(crew, history_key=...) for conversations, or shared_memory=True if that "
            "is what you want"
        )
