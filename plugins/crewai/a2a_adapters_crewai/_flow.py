"""A flow as an adapter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crewai import Flow, Task, TaskOutput
from crewai.flow.async_feedback.types import HumanFeedbackPending
from crewai.flow.persistence.base import FlowPersistence
from crewai.flow.persistence.factory import default_flow_persistence
from pydantic import BaseModel, ValidationError

from a2a_adapters import (
    JSON,
    Adapter,
    AgentDescription,
    AgentEvent,
    AgentRequest,
    InputRequired,
    InvalidInputError,
    Rejected,
    TargetError,
)
from a2a_adapters_crewai._card import describe_flow
from a2a_adapters_crewai._files import input_files
from a2a_adapters_crewai._guard import watch_calls
from a2a_adapters_crewai._human import feedback_question
from a2a_adapters_crewai._inputs import NamedInputs, ReadInputs, flow_inputs
from a2a_adapters_crewai._news import News
from a2a_adapters_crewai._process import tracing_of
from a2a_adapters_crewai._results import task_output, value_output
from a2a_adapters_crewai._run import Run
from a2a_adapters_crewai._runs import MAX_RUNS, Events, Runs
from a2a_adapters_crewai._targets import as_target, flow_maker, flow_settings
from a2a_adapters_crewai._values import text_of

if TYPE_CHECKING:
    from a2a_adapters_crewai._run import Work

_FLOW_ID = "flow_id"
"""Where a waiting task keeps what finds its stored flow."""

_USAGE = "usage"
"""Where it keeps the token usage of the runs before."""


class FlowAdapter(Adapter):
    """Serves flows. Each run has a flow of its own; all share an event loop.

    What a method with `@human_feedback` asks is asked the caller. A flow with persistence is
    stored meanwhile, so that the answer can come after a restart; others wait in memory, as do
    `Flow.ask()` and tasks with `human_input` of a crew inside.

    Args:
        flow: A flow, its class, or a function that returns one.
        input: Makes the flow's inputs of a request, in place of the rules for its state. It may
            raise `InvalidInputError`.
        text_key: The field of the state that gets the text; by default the only one, or
            `message`.
        history_key: The field that gets what was said before in the conversation.
        task_outputs: Whether the outputs of tasks of crews inside are sent, each as soon as it
            is there.
        tokens: Whether the models' text is reported as progress, word by word.
        max_runs: How many runs work at the same time.

    Raises:
        TargetError: It is no flow, or no other one like it can be made.
    """

    def __init__(
        self,
        flow: object,
        *,
        input: ReadInputs | None = None,  # noqa: A002 - as for the other frameworks
        text_key: str | None = None,
        history_key: str | None = None,
        task_outputs: bool = False,
        tokens: bool = False,
        max_runs: int = MAX_RUNS,
    ) -> None:
        target = as_target(flow)
        example, self._make = target.example, target.make
        if not isinstance(example, Flow):
            raise TargetError(f"{type(example).__name__} is no flow")
        self._state: Any = example.state
        self._is_durable = _is_restorable(example)
        self._input = input or flow_inputs(example, text_key, history_key)
        self._task_outputs = task_outputs
        self._tokens = tokens
        self._runs = Runs(max_runs)
        self._description = describe_flow(example, self._input)
        self.uses_history = history_key is not None or not isinstance(self._input, NamedInputs)
        watch_calls()

    def describe(self) -> AgentDescription:
        """Describe the flow by its name and docstring."""
        return self._description

    def stream(self, request: AgentRequest) -> Events:
        """Start a flow, or go on where it asked its caller.

        Raises:
            InvalidInputError: The message does not make the flow's inputs.
        """
        return self._resume(request) if request.resuming else self._start(request)

    async def abandon(self, request: AgentRequest) -> None:
        """Forget a stored flow that nobody will answer."""
        if flow_id := request.resume_metadata.get(_FLOW_ID):
            _store(self._make()).clear_pending_feedback(str(flow_id))

    async def aclose(self) -> None:
        """End the loop of the runs."""
        self._runs.stop()

    def _start(self, request: AgentRequest) -> Events:
        inputs = dict(self._input(request))
        files = dict(input_files(request.parts))
        self._check(inputs)

        async def kickoff(run: Run) -> object:
            flow = self._make()
            self._settle(flow, run)
            return await flow.kickoff_async(inputs=inputs, input_files=files or None)

        return self._run(request, kickoff)

    def _resume(self, request: AgentRequest) -> Events:
        made = self._make()
        flow_id = str(request.resume_metadata.get(_FLOW_ID))
        if _store(made).load_pending_feedback(flow_id) is None:
            return _refuse()

        async def resume(run: Run) -> object:
            settings = flow_settings(made)
            settings.pop("persistence", None)
            flow = type(made).from_pending(flow_id, _store(made), **settings)
            self._settle(flow, run)
            return await flow.resume_async(text_of(request.parts))

        return self._run(request, resume)

    def _run(self, request: AgentRequest, work: Work) -> Events:
        news = News(
            wants_progress=request.wants_progress,
            tokens=self._tokens,
            on_task=_task_outputs if self._task_outputs else None,
            usage_before=_usage_before(request),
        )

        def finish(result: object) -> Iterator[AgentEvent]:
            if isinstance(result, HumanFeedbackPending):
                yield _durable_question(result, news)
            else:
                yield from value_output(result)
                yield from news.usage()

        run = Run(request, work, news)
        return self._runs.answer(run, finish)

    def _settle(self, flow: Flow[Any], run: Run) -> None:
        """Make a flow this run's."""
        flow.stream = False
        flow.tracing = tracing_of(flow)
        if self._is_durable:
            run.durable_flow = flow

    def _check(self, inputs: dict[str, Any]) -> None:
        """Refuse what the flow's state would not take."""
        if not isinstance(self._state, BaseModel):
            return
        try:
            type(self._state).model_validate({**self._state.model_dump(), **inputs})
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False, include_input=False)
            places = (".".join(map(str, detail["loc"])) for detail in details)
            texts = (f"{p}: {d['msg']}" for p, d in zip(places, details, strict=True))
            raise InvalidInputError("; ".join(texts)) from error


def _usage_before(request: AgentRequest) -> Mapping[str, JSON]:
    usage = request.resume_metadata.get(_USAGE)
    return usage if isinstance(usage, Mapping) else {}


def _task_outputs(_: Task, output: TaskOutput) -> Iterator[AgentEvent]:
    yield from task_output(output)


async def _refuse() -> Events:
    yield Rejected("The flow no longer waits for this answer. Please start a new task.")


def _durable_question(pending: HumanFeedbackPending, news: News) -> InputRequired:
    question = feedback_question(pending.context)
    metadata: dict[str, JSON] = {_FLOW_ID: pending.context.flow_id, _USAGE: news.total()}
    return replace(question, metadata=metadata, durable=True)


def _store(flow: Flow[Any]) -> FlowPersistence:
    """Return where a flow is stored while it waits; crewai has a place for those without."""
    return flow.persistence or default_flow_persistence()


def _is_restorable(flow: Flow[Any]) -> bool:
    """Whether the flow's persistence keeps questions and a new flow can be made of them."""
    load = getattr(type(flow.persistence), "load_pending_feedback", None)
    if load in (None, FlowPersistence.load_pending_feedback):
        return False
    try:
        flow_maker(flow)
    except TargetError:
        return False
    return True
