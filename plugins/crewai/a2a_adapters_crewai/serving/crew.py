"""A crew as an adapter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crewai import Crew, Task, TaskOutput
from crewai.crews.utils import enable_agent_streaming

from a2a_adapters import AgentEvent, AgentRequest, TargetError
from a2a_adapters_crewai.serving.base import InputsAdapter
from a2a_adapters_crewai.serving.card import describe_crew
from a2a_adapters_crewai.serving.files import input_files
from a2a_adapters_crewai.serving.inputs import NamedInputs, crew_inputs
from a2a_adapters_crewai.serving.mcp import uses_mcp
from a2a_adapters_crewai.serving.options import Options
from a2a_adapters_crewai.serving.process import tracing_of
from a2a_adapters_crewai.serving.results import crew_output, task_output
from a2a_adapters_crewai.serving.run import Run
from a2a_adapters_crewai.serving.speech import Speech
from a2a_adapters_crewai.serving.targets import as_target

if TYPE_CHECKING:
    from a2a_adapters_crewai.serving.runs import Events


class CrewAdapter(InputsAdapter):
    """Serves crews. Each run has a crew of its own.

    Args:
        crew: A crew that was never kicked off, a class decorated with `@CrewBase` or an object
            of one, or a function that returns a crew.
        options: How it is served.

    Raises:
        TargetError: It is no crew, was kicked off already, ignores what callers say, or has a
            memory that all callers would share.
    """

    def __init__(self, crew: object, options: Options | None = None) -> None:
        target, options = as_target(crew), options or Options()
        example = target.example
        if not isinstance(example, Crew):
            raise TargetError(f"{type(example).__name__} is no crew")
        if not options.shared_memory:
            _refuse_memory(example)
        read = options.input or crew_inputs(example, options.text_key, options.history_key)
        super().__init__(target, options, describe_crew(example, read), read)
        self._on_task = _task_outputs if options.task_outputs else None

    def stream(self, request: AgentRequest) -> Events:
        """Kick off a crew.

        Raises:
            InvalidInputError: The message does not make the crew's inputs.
        """
        inputs = dict(self._input(request))
        files = dict(input_files(request.parts))
        speech = Speech()
        news = self._news(request, speech)

        async def kickoff(_: Run) -> tuple[Any, Crew]:
            crew = await self._new_crew()
            speech.follow_crew(crew)
            # Planners and connections to MCP servers block their crew's thread.
            is_blocking = crew.planning or uses_mcp(crew)
            kickoff = crew.kickoff_async if is_blocking else crew.akickoff
            return await kickoff(inputs=inputs, input_files=files or None), crew

        def finish(result: tuple[Any, Crew]) -> Iterator[AgentEvent]:
            yield from speech.finish(crew_output(*result))
            yield from news.usage()

        run = Run(request, kickoff, news)
        return self._runs.answer(run, finish)

    async def _new_crew(self) -> Crew:
        crew: Crew = await self._new()
        crew.stream = False  # a run's own events tell more than the chunks of such a stream
        crew.tracing = tracing_of(crew)
        if self._tokens:
            enable_agent_streaming(crew.agents)
        if isinstance(self._input, NamedInputs) and self._input.is_open:
            own = crew.before_kickoff_callbacks
            crew.before_kickoff_callbacks = [self._input.ask, *own, self._input.complete]
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
