"""A flow as an adapter."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from crewai import Crew, Flow, Task, TaskOutput
from crewai.flow.async_feedback.types import HumanFeedbackPending
from crewai.flow.persistence.base import FlowPersistence
from crewai.flow.persistence.factory import default_flow_persistence
from pydantic import BaseModel, ValidationError

from a2a_adapters import (
    AgentRequest,
    InputRequired,
    InvalidInputError,
    Output,
    Rejected,
    TargetError,
)
from a2a_adapters.plugin import ANOTHER_TASK_WAITS, QUESTION_CLOSED, as_text, overrides
from a2a_adapters_crewai.serving.base import Options, RunsAdapter
from a2a_adapters_crewai.serving.card import describe_flow
from a2a_adapters_crewai.serving.guardrails import has_after_kickoff, wraps_calls
from a2a_adapters_crewai.serving.input import flow_inputs, input_files
from a2a_adapters_crewai.serving.memory import (
    ServerPersistence,
    has_own_store,
    keeps_state,
    state_id,
)
from a2a_adapters_crewai.serving.output import result_output, task_output
from a2a_adapters_crewai.serving.process import tracing_of
from a2a_adapters_crewai.serving.questions import (
    StillPending,
    classify_feedback,
    feedback_question,
    refuse_blocking_questions,
)
from a2a_adapters_crewai.serving.targets import as_target, flow_maker, flow_settings

if TYPE_CHECKING:
    from collections.abc import Collection

    from a2a_adapters.plugin import StateStorage
    from a2a_adapters_crewai.serving.base import Events, Refuse
    from a2a_adapters_crewai.serving.crew_run import CrewRun, Work

_FLOW_ID = "flow_id"
"""The key of a stored flow's id in the metadata of its question."""


class FlowAdapter(RunsAdapter):
    """Serves flows. Each run has a flow of its own; all share an event loop.

    Questions of `@human_feedback` are sent to the caller. A flow with persistence, its own or the
    server's storage, is stored meanwhile, so that it can be answered after a restart. Others wait
    in memory, and so do `Flow.ask()` and tasks with `human_input` of crews inside a flow.

    A flow with `@persist` has one state for each conversation, others start over each time.

    The answer is sent when the flow has ended. In the methods that `stream_methods` names, the
    first crew, agent or model that speaks is streamed, while no other method runs. At the end, its
    text is corrected to what the flow returns.

    Args:
        flow: A flow, its class, or a function that returns one.
        options: The options; that for memory is refused.

    Raises:
        TargetError: The target is not a flow, is a conversational one, overrides another method
            than the one that runs it, has no such method to stream, or no other one like it can be
            created.
    """

    _tool_data = False  # the methods may check any text

    def __init__(self, flow: object, options: Options | None = None) -> None:
        target, options = as_target(flow), options or Options()
        example = target.example
        if not isinstance(example, Flow):
            raise TargetError(f"{type(example).__name__} is not a flow")
        if options.shared_memory:
            raise TargetError("shared_memory is for crews")
        if getattr(example, "conversational", False):
            name = type(example).__name__
            raise TargetError(
                f"{name} is a conversational flow, whose kickoff takes no message: serve a "
                f"function, def answer(text: str): return {name}().handle_turn(text)"
            )
        _refuse_unused(example)
        refuse_blocking_questions(example)
        self._input = options.input or flow_inputs(example, options.text_key, options.history_key)
        description = describe_flow(example, self._input)
        super().__init__(target, options, description, self._input, _task_output)
        self._example = example
        self._server_store: ServerPersistence | None = None
        self._keeps_state = example.persistence is not None and keeps_state(example)
        self._is_durable = _keeps_questions(example) and _is_restorable(example)
        self._stream_methods = _stream_methods(example, options.stream_methods)

    async def open(self, storage: StateStorage) -> None:
        """Keep states and questions in the server's storage, unless the flow chooses a store."""
        if storage.is_durable and not has_own_store(self._example):
            self._server_store = ServerPersistence.on(storage)
            self._keeps_state = keeps_state(self._example)
            self._is_durable = _is_restorable(self._example)

    def stream(self, request: AgentRequest) -> Events:
        """Kick off a flow, or resume it with the answer to its question.

        Raises:
            InvalidInputError: The message does not provide the flow's inputs.
        """
        return self._resume(request) if request.resuming else self._start(request)

    async def abandon(self, request: AgentRequest) -> None:
        """Delete the stored question of a flow."""
        if flow_id := request.resume_metadata.get(_FLOW_ID):
            await asyncio.to_thread(self._store(self._example).clear_pending_feedback, str(flow_id))

    def _start(self, request: AgentRequest) -> Events:
        inputs = dict(self._input(request))
        files = input_files(request.parts)
        self._validate(inputs)
        if self._keeps_state:
            inputs = {"id": state_id(self._example, request), **inputs}

        async def kickoff(run: CrewRun) -> object:
            flow = await self._new()
            self._prepare(flow, run)
            return await flow.kickoff_async(inputs=inputs, input_files=files)

        may_be_asking = self._keeps_state and self._is_durable
        refuse = partial(self._other_question, request, inputs["id"]) if may_be_asking else None
        return self._flow_events(request, kickoff, refuse)

    async def _other_question(self, request: AgentRequest, flow_id: str) -> Rejected | None:
        """Refuse a message while the conversation's flow waits for the answer to another task.

        The conversation has one state, so a second run would replace the first one's question.
        """
        if not await self._is_pending(flow_id):
            return None
        if await request.others_wait():
            return ANOTHER_TASK_WAITS
        await asyncio.to_thread(self._store(self._example).clear_pending_feedback, flow_id)
        return None

    def _resume(self, request: AgentRequest) -> Events:
        flow_id = str(request.resume_metadata.get(_FLOW_ID))

        async def resume(run: CrewRun) -> object:
            made = await self._new()
            settings = flow_settings(made)
            settings.pop("persistence", None)
            flow = type(made).from_pending(flow_id, self._store(made), **settings)
            self._prepare(flow, run)
            if (context := flow.pending_feedback) is not None:
                run.feedback[context.method_name] = context
            try:
                return await flow.resume_async(as_text(request.parts).strip())
            except StillPending as pending:
                return pending

        async def closed() -> Rejected | None:
            return None if await self._is_pending(flow_id) else QUESTION_CLOSED

        return self._flow_events(request, resume, closed)

    async def _is_pending(self, flow_id: str) -> bool:
        load = self._store(self._example).load_pending_feedback
        return await asyncio.to_thread(load, flow_id) is not None

    def _store(self, flow: Flow[Any]) -> FlowPersistence:
        """Return the store of a flow; without one crewai uses its default."""
        return self._server_store or flow.persistence or default_flow_persistence()

    def _flow_events(
        self, request: AgentRequest, start: Work, refuse: Refuse | None = None
    ) -> Events:
        async def work(run: CrewRun) -> Output | InputRequired | None:
            result = await start(run)
            if not isinstance(result, HumanFeedbackPending):
                return result_output(result)
            is_repeated = isinstance(result, StillPending)
            question = feedback_question(result.context, is_repeated=is_repeated)
            return replace(question, metadata={_FLOW_ID: result.context.flow_id}, durable=True)

        return self._run(request, work, refuse)

    def _prepare(self, flow: Flow[Any], run: CrewRun) -> None:
        """Connect a flow to its run."""
        if type(flow) is type(self._example):  # a function may return several kinds
            run.answer.follow_flow(flow, self._stream_methods)
        flow.stream = False
        flow.tracing = tracing_of(flow)
        if self._server_store is not None:
            flow.persistence = self._server_store.during(run.cancelled)
            flow._instance_persistence = True  # noqa: SLF001 - as if the constructor had set it
        if self._is_durable:
            run.durable_flow = flow
        classify_feedback(flow, run)

    def _validate(self, inputs: dict[str, Any]) -> None:
        """Refuse inputs that the flow's state does not accept."""
        state = self._example.state
        if not isinstance(state, BaseModel):
            return
        try:
            type(state).model_validate({**state.model_dump(), **inputs})
        except ValidationError as error:
            raise InvalidInputError.of(error) from error


def _refuse_unused(flow: Flow[Any]) -> None:
    """Raise `TargetError` if a check in a class of the user's own would not run."""
    for name in ("kickoff", "akickoff"):
        if overrides(flow, name, "crewai.", unless=["kickoff_async"]):
            raise TargetError(
                f"{type(flow).__name__} overrides {name}, which the server does not call: override "
                "kickoff_async, which CrewAI's own kickoff calls as well"
            )
    methods = flow.flow_definition().methods.values()
    if any(method.human_feedback for method in methods) and overrides(
        flow, "kickoff_async", "crewai.", unless=["resume_async"]
    ):
        raise TargetError(
            f"{type(flow).__name__} overrides kickoff_async, and asks for feedback: override "
            "resume_async, too, which continues the flow when it has the feedback"
        )


def _stream_methods(flow: Flow[Any], names: Collection[str]) -> frozenset[str]:
    """Return the names of the methods to stream.

    Raises:
        TargetError: A name is not that of a method of the flow, or the flow hides its methods.
    """
    known = flow.flow_definition().methods
    if unknown := sorted({*names} - known.keys()):
        raise TargetError(
            f"stream_methods: the flow has no method {', '.join(unknown)}; its methods are "
            f"{', '.join(known)}"
        )
    if names and flow.suppress_flow_events:
        raise TargetError(
            "stream_methods needs the events of methods, which suppress_flow_events hides"
        )
    return frozenset(names)


def _task_output(task: Task, output: TaskOutput) -> Output | None:
    """Return the output of a task, unless its crew's class or callbacks may still change it."""
    crew = task.agent.crew if task.agent else None
    is_changed = isinstance(crew, Crew) and (has_after_kickoff(crew) or wraps_calls(crew))
    return None if is_changed else task_output(output)


def _keeps_questions(flow: Flow[Any]) -> bool:
    load = getattr(type(flow.persistence), "load_pending_feedback", None)
    return load not in (None, FlowPersistence.load_pending_feedback)


def _is_restorable(flow: Flow[Any]) -> bool:
    """Whether a new flow can be created from a stored one."""
    try:
        flow_maker(flow)
    except TargetError:
        return False
    return True
