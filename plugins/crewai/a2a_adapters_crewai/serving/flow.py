"""A flow as an adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from crewai import Flow, Task, TaskOutput
from crewai.flow.async_feedback.types import HumanFeedbackPending
from crewai.flow.persistence.base import FlowPersistence
from crewai.flow.persistence.factory import default_flow_persistence
from pydantic import BaseModel, ValidationError

from a2a_adapters import (
    JSON,
    AgentEvent,
    AgentRequest,
    InputRequired,
    InvalidInputError,
    Rejected,
    TargetError,
    as_text,
)
from a2a_adapters_crewai.serving.answering import answering_methods
from a2a_adapters_crewai.serving.base import InputsAdapter
from a2a_adapters_crewai.serving.card import describe_flow
from a2a_adapters_crewai.serving.files import input_files
from a2a_adapters_crewai.serving.inputs import flow_inputs
from a2a_adapters_crewai.serving.options import Options
from a2a_adapters_crewai.serving.persistence import ServerPersistence, has_own_store
from a2a_adapters_crewai.serving.process import tracing_of
from a2a_adapters_crewai.serving.questions import (
    StillPending,
    classify_feedback,
    feedback_question,
)
from a2a_adapters_crewai.serving.results import task_output, value_output
from a2a_adapters_crewai.serving.run import Run
from a2a_adapters_crewai.serving.source import refuse_blocking_questions
from a2a_adapters_crewai.serving.speech import Speech
from a2a_adapters_crewai.serving.state import keeps_state, state_id
from a2a_adapters_crewai.serving.targets import as_target, flow_maker, flow_settings

if TYPE_CHECKING:
    from a2a_adapters import StateStorage
    from a2a_adapters_crewai.serving.progress import News
    from a2a_adapters_crewai.serving.run import Work
    from a2a_adapters_crewai.serving.runs import Events

_NO_LONGER_OPEN = Rejected("The flow no longer waits for this answer. Please start a new task.")

_FLOW_ID = "flow_id"
"""Where a waiting task keeps what finds its stored flow."""

_USAGE = "usage"
"""Where it keeps the token usage of the runs before."""


class FlowAdapter(InputsAdapter):
    """Serves flows. Each run has a flow of its own; all share an event loop.

    What a method with `@human_feedback` asks is asked the caller. A flow with persistence, its own
    or the server's storage, is stored meanwhile, so that the answer can come after a restart;
    others wait in memory, as do `Flow.ask()` and tasks with `human_input` of a crew inside.

    A flow with `@persist` has one state for each conversation, others begin anew each time.

    Args:
        flow: A flow, its class, or a function that returns one.
        options: How it is served; its memory is not shared.

    Raises:
        TargetError: It is no flow, or no other one like it can be made.
    """

    def __init__(self, flow: object, options: Options | None = None) -> None:
        target, options = as_target(flow), options or Options()
        example = target.example
        if not isinstance(example, Flow):
            raise TargetError(f"{type(example).__name__} is no flow")
        if options.shared_memory:
            raise TargetError("shared_memory is for crews")
        refuse_blocking_questions(example)
        read = options.input or flow_inputs(example, options.text_key, options.history_key)
        super().__init__(target, options, describe_flow(example, read), read)
        self._on_task = _task_outputs if options.task_outputs else None
        self._state: Any = example.state
        self._example = example
        self._server_store: ServerPersistence | None = None
        self._keeps_state = example.persistence is not None and keeps_state(example)
        self._is_durable = _keeps_questions(example) and _is_restorable(example)
        self._answering = answering_methods(example)

    async def open(self, storage: StateStorage) -> None:
        """Keep states and questions in the server's storage, unless the flow says where."""
        if storage.is_durable and not has_own_store(self._example):
            self._server_store = ServerPersistence.on(storage)
            self._keeps_state = keeps_state(self._example)
            self._is_durable = _is_restorable(self._example)

    def stream(self, request: AgentRequest) -> Events:
        """Start a flow, or go on where it asked its caller.

        Raises:
            InvalidInputError: The message does not make the flow's inputs.
        """
        return self._resume(request) if request.resuming else self._start(request)

    async def abandon(self, request: AgentRequest) -> None:
        """Forget a stored flow that nobody will answer."""
        if flow_id := request.resume_metadata.get(_FLOW_ID):
            await asyncio.to_thread(self._store(self._example).clear_pending_feedback, str(flow_id))

    def _start(self, request: AgentRequest) -> Events:
        inputs = dict(self._input(request))
        files = dict(input_files(request.parts))
        self._check(inputs)
        if self._keeps_state:
            inputs = {"id": state_id(self._example, request), **inputs}

        async def kickoff(run: Run) -> object:
            flow = await self._new()
            self._settle(flow, run)
            return await flow.kickoff_async(inputs=inputs, input_files=files or None)

        events = self._run(request, kickoff)
        if self._keeps_state and self._is_durable:
            return _unless(partial(self._asked, request, inputs["id"]), events)
        return events

    async def _asked(self, request: AgentRequest, flow_id: str) -> Rejected | None:
        """Refuse a message while the conversation's flow waits for the answer to another task.

        It would take that question's place, as there is one state for both.
        """
        store = self._store(self._example)
        if not await asyncio.to_thread(store.load_pending_feedback, flow_id):
            return None
        if await request.others_wait():
            return Rejected("Another task of this conversation waits for your answer.")
        await asyncio.to_thread(store.clear_pending_feedback, flow_id)
        return None

    def _resume(self, request: AgentRequest) -> Events:
        flow_id = str(request.resume_metadata.get(_FLOW_ID))

        async def resume(run: Run) -> object:
            made = await self._new()
            settings = flow_settings(made)
            settings.pop("persistence", None)
            store = self._store(made)
            flow = type(made).from_pending(flow_id, store, **settings)
            self._settle(flow, run)
            if (context := flow.pending_feedback) is not None:
                run.feedback[context.method_name] = context
            try:
                return await flow.resume_async(as_text(request.parts).strip())
            except StillPending as pending:
                return pending

        return _unless(partial(self._no_longer_asks, flow_id), self._run(request, resume))

    async def _no_longer_asks(self, flow_id: str) -> Rejected | None:
        """Refuse an answer for which no flow waits."""
        store = self._store(self._example)
        waits = await asyncio.to_thread(store.load_pending_feedback, flow_id)
        return None if waits else _NO_LONGER_OPEN

    def _store(self, flow: Flow[Any]) -> FlowPersistence:
        """Return where a flow is stored while it waits; crewai has a place for those without."""
        return self._server_store or flow.persistence or default_flow_persistence()

    def _run(self, request: AgentRequest, work: Work) -> Events:
        speech = Speech()
        speech.follow_flow(self._answering)
        news = self._news(request, speech, _usage_before(request))

        def finish(result: object) -> Iterator[AgentEvent]:
            if isinstance(result, HumanFeedbackPending):
                yield _durable_question(result, news)
            else:
                yield from speech.finish(value_output(result))
                yield from news.usage()

        run = Run(request, work, news)
        return self._runs.answer(run, finish)

    def _settle(self, flow: Flow[Any], run: Run) -> None:
        """Make a flow this run's."""
        flow.stream = False
        flow.tracing = tracing_of(flow)
        if self._server_store is not None:
            flow.persistence = self._server_store.during(run.cancelled)
            flow._instance_persistence = True  # noqa: SLF001 - as if it were made with it
        if self._is_durable:
            run.durable_flow = flow
        classify_feedback(flow, run)

    def _check(self, inputs: dict[str, Any]) -> None:
        """Refuse what the flow's state would not take."""
        if not isinstance(self._state, BaseModel):
            return
        try:
            type(self._state).model_validate({**self._state.model_dump(), **inputs})
        except ValidationError as error:
            raise InvalidInputError.of(error) from error


def _usage_before(request: AgentRequest) -> Mapping[str, JSON]:
    usage = request.resume_metadata.get(_USAGE)
    return usage if isinstance(usage, Mapping) else {}


def _task_outputs(_: Task, output: TaskOutput) -> Iterator[AgentEvent]:
    yield from task_output(output)


async def _unless(refuse: Callable[[], Awaitable[Rejected | None]], events: Events) -> Events:
    """Yield a refusal, or the events of a run if there is none."""
    if refusal := await refuse():
        yield refusal
        return
    async with aclosing(events):
        answer = None
        while True:
            try:
                answer = yield await events.asend(answer)
            except StopAsyncIteration:
                return


def _durable_question(pending: HumanFeedbackPending, news: News) -> InputRequired:
    question = feedback_question(pending.context, is_repeated=isinstance(pending, StillPending))
    metadata: dict[str, JSON] = {_FLOW_ID: pending.context.flow_id, _USAGE: news.total()}
    return replace(question, metadata=metadata, durable=True)


def _keeps_questions(flow: Flow[Any]) -> bool:
    load = getattr(type(flow.persistence), "load_pending_feedback", None)
    return load not in (None, FlowPersistence.load_pending_feedback)


def _is_restorable(flow: Flow[Any]) -> bool:
    """Whether a new flow can be made of a stored one."""
    try:
        flow_maker(flow)
    except TargetError:
        return False
    return True
