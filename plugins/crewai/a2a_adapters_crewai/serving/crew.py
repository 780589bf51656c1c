"""A crew as an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewai import Crew, Task, TaskOutput
from crewai.crews.utils import enable_agent_streaming

from a2a_adapters import AgentRequest, Output, TargetError
from a2a_adapters_crewai.serving.base import Options, RunsAdapter
from a2a_adapters_crewai.serving.card import describe_crew
from a2a_adapters_crewai.serving.guardrails import IN_CREWS, has_after_kickoff, needs_thread
from a2a_adapters_crewai.serving.input import RequestInputs, crew_inputs, input_files
from a2a_adapters_crewai.serving.output import result_output, task_output
from a2a_adapters_crewai.serving.process import tracing_of
from a2a_adapters_crewai.serving.targets import agents_of, as_target

if TYPE_CHECKING:
    from a2a_adapters_crewai.serving.base import Events
    from a2a_adapters_crewai.serving.crew_run import CrewRun


class CrewAdapter(RunsAdapter):
    """Serves crews. Each run has a crew of its own.

    Args:
        crew: A crew that was never kicked off, a class decorated with `@CrewBase` or an instance
            of one, or a function that returns a crew.
        options: The options.

    Raises:
        TargetError: The target is not a crew, was kicked off already, ignores messages, has a
            memory that all callers would share, or an option is not for crews.
    """

    def __init__(self, crew: object, options: Options | None = None) -> None:
        target, options = as_target(crew), options or Options()
        example = target.example
        if not isinstance(example, Crew):
            raise TargetError(f"{type(example).__name__} is not a crew")
        if options.stream_methods:
            raise TargetError("stream_methods is for flows; a crew has no methods")
        if not options.shared_memory:
            _refuse_memory(example)
        self._input = options.input or crew_inputs(example, options.text_key, options.history_key)
        _needs_thread(example)  # refuses classes of which a run would call only some
        description = describe_crew(example, self._input)
        super().__init__(target, options, description, self._input, _earlier_task_output)

    def stream(self, request: AgentRequest) -> Events:
        """Kick off a crew.

        Raises:
            InvalidInputError: The message does not provide the crew's inputs.
        """
        inputs = dict(self._input(request))
        files = input_files(request.parts)

        async def work(run: CrewRun) -> Output | None:
            crew = await self._new_crew()
            run.answer.follow_crew(crew)
            kickoff = crew.kickoff_async if _needs_thread(crew) else crew.akickoff
            result = await kickoff(inputs=inputs, input_files=files)
            if self._on_task and has_after_kickoff(crew):
                outputs = getattr(result, "tasks_output", [])[:-1]
                for output in filter(None, map(task_output, outputs)):
                    run.send(output)
            model = crew.tasks[-1].output_json if crew.tasks else None
            return result_output(result, schema=model.model_json_schema() if model else None)

        return self._run(request, work)

    async def _new_crew(self) -> Crew:
        crew: Crew = await self._new()
        crew.stream = False  # the events of a run hold more than the chunks of such a stream
        crew.tracing = tracing_of(crew)
        if self._tokens:
            enable_agent_streaming(crew.agents)
        if isinstance(self._input, RequestInputs) and self._input.is_open:
            own = crew.before_kickoff_callbacks
            crew.before_kickoff_callbacks = [
                self._input.for_callbacks,
                *own,
                self._input.complete,
            ]
        return crew


def _needs_thread(crew: Crew) -> bool:
    """Whether a crew may block: by custom code, a planner, or connections to MCP servers.

    Without a thread, CrewAI would make structured output of a text by `acall`, which a custom model
    need not have.
    """
    agents = agents_of(crew)
    is_structured = any(task.output_pydantic or task.output_json for task in crew.tasks)
    is_blocking = crew.planning or is_structured or any(agent.mcps for agent in agents)
    return needs_thread([crew, *crew.tasks, *agents], IN_CREWS, is_blocking=is_blocking)


def _earlier_task_output(task: Task, output: TaskOutput) -> Output | None:
    """Return the output of any task but the last, which is the crew's answer.

    Callbacks after the kickoff may change all of them: these are sent at the end.
    """
    crew = task.agent.crew if task.agent else None
    if not isinstance(crew, Crew) or task is crew.tasks[-1] or has_after_kickoff(crew):
        return None
    return task_output(output)


def _refuse_memory(crew: Crew) -> None:
    if crew.memory or any(getattr(agent, "memory", None) for agent in agents_of(crew)):
        raise TargetError(
            "this crew has a memory, which would reveal the messages of all callers to each "
            "other; use adapt(crew, history_key=...) for conversations, or shared_memory=True if "
            "that is what you want"
        )
