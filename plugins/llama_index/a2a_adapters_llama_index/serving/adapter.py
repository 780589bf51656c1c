"""A LlamaIndex workflow or agent as an adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from workflows import Workflow
from workflows.events import StartEvent

from a2a_adapters import AgentRequest, Limits, Rejected, TargetError
from a2a_adapters.concurrency import PerLoop
from a2a_adapters.conversing import AskingRun, ConversingAdapter, Events, StoredTurn, json_turns
from a2a_adapters.plugin import (
    AgentDescription,
    Factory,
    MadeAnew,
    check_arguments,
    example_of,
    overrides,
    per_request,
)
from a2a_adapters_llama_index.serving.events import RunEvents
from a2a_adapters_llama_index.serving.failures import failure
from a2a_adapters_llama_index.serving.input import start_event
from a2a_adapters_llama_index.serving.questions import asked, response
from a2a_adapters_llama_index.serving.serializer import ContextSerializer
from a2a_adapters_llama_index.serving.targets import (
    changes_text,
    conversations,
    copied,
    describe,
    has_own_agents,
    is_agent,
    speaking_steps,
)
from a2a_adapters_llama_index.serving.workflow_run import WorkflowRun

if TYPE_CHECKING:
    from workflows.events import Event

    from a2a_adapters import OutboundPolicy
    from a2a_adapters.plugin import JSON

_Turn: TypeAlias = StoredTurn[Any, AskingRun]

_REFUSED = Rejected("The agent did not wait for this reply; please start a new task.")


class LlamaIndexAdapter(ConversingAdapter[Any, AskingRun, StartEvent]):
    """Serves a LlamaIndex `Workflow`: one of your own, a `FunctionAgent` or an `AgentWorkflow`.

    Each run has a copy of the workflow and of the conversation's `Context`, which is kept per
    caller. A failed or cancelled run leaves it unchanged. Steps and tools find the request with
    `current_request()`.

    Args:
        workflow: The workflow, or a `Factory` that makes one for every run. The card describes it.
        keep_context: Whether the next run of a conversation gets the context of the last one. The
            values in its store have to be data or pydantic models.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target is not a workflow, its class overrides `run`, or an attribute holds
            the conversation of all callers.
    """

    def __init__(
        self,
        workflow: Workflow | Factory,
        *,
        keep_context: bool = True,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        example = example_of(workflow)
        if not isinstance(example, Workflow):
            raise TargetError(f"{type(example).__name__} is not a workflow of LlamaIndex")
        check_arguments(LlamaIndexAdapter, locals())
        super().__init__(json_turns("llama-index", self._response), limits=limits, fetch=fetch)
        if overrides(example, "run", ("llama_index.", "workflows.")):
            raise TargetError(
                f"{type(example).__name__} overrides run, which cannot change the answer of a run "
                "that is streamed: check it in the last step instead"
            )
        self.holds_text = changes_text(example)
        self._example = example
        self._make = per_request(workflow)
        self._anew: MadeAnew | None = None
        if held := conversations(example):
            if not isinstance(workflow, Factory):
                raise TargetError(
                    f"a {type(held[0]).__name__} in an attribute of the workflow would mix the "
                    "callers' conversations: keep it in ctx.store, or make the workflow in a "
                    "function"
                )
            self._anew = MadeAnew(conversations, "memories and chat engines")
            self._anew.check_factory(workflow)
        self._keeps_context = keep_context
        self._serializer = ContextSerializer(example)
        runs = example._num_concurrent_runs  # noqa: SLF001 - copies would not be counted
        self._room: Callable[[], AbstractAsyncContextManager[Any]] = (
            PerLoop(lambda: asyncio.Semaphore(runs)) if runs else nullcontext
        )

    def describe(self) -> AgentDescription:
        """Describe the workflow by its name, its description and its tools."""
        return describe(self._example)

    def prompt(self, request: AgentRequest) -> StartEvent:
        """Return the message as the event that starts the workflow.

        Raises:
            InvalidInputError: It does not fit the workflow's input.
        """
        return start_event(self._example, request)

    def _response(self, asked: Mapping[str, Any], reply: JSON) -> Event:
        return response(self._serializer, asked, reply)

    def _streaming(self, workflow: Workflow) -> Collection[str]:
        """Return the steps whose text is streamed."""
        # An agent that a function makes may differ from the one that was served.
        is_unexpected = changes_text(workflow) and not self.holds_text
        return () if is_unexpected else speaking_steps(workflow)

    async def run(self, request: AgentRequest, turn: _Turn, prompt: StartEvent | None) -> Events:
        """Run the workflow; keep its context, or ask what its steps wait for."""
        made, paused = await self._make(request), turn.before.paused
        if self._anew:
            self._anew.check(made)
        workflow = copied(made)
        state, tools, responses = turn.before.state, {}, []
        if paused:
            state, tools = paused.state["context"], paused.state["tools"]
            given = paused.answers.items()
            responses = [self._response(paused.questions[key], value) for key, value in given]
        events = RunEvents(
            wants_progress=request.wants_progress,
            streaming=self._streaming(workflow),
            reports_steps=not is_agent(workflow),
            is_checked=has_own_agents(workflow),
            tools=tools,
        )
        try:
            run = WorkflowRun(workflow, state, prompt, responses)
            async with self._room(), aclosing(run.events()) as items:
                async for item in items:
                    for each in events.take(item):
                        yield each
        except Exception as error:
            if failed := failure(error):
                raise failed from error
            raise
        async for each in self._ending(request, turn, run, events):
            yield each

    async def _ending(
        self, request: AgentRequest, turn: _Turn, run: WorkflowRun, events: RunEvents
    ) -> Events:
        """Yield the result and keep the conversation, or yield the run's question."""
        if run.refused:
            yield _REFUSED
        elif run.waiting:
            for event in events.pause():
                yield event
            questions = asked(run.questions, self._example, self._serializer, run.waiting)
            state = {"context": run.waiting, "tools": events.tools}
            paused = AskingRun(request.task_id, state, questions)
            await turn.pause(paused)
            yield paused.question()
        elif run.stop:
            async for event in events.end(run.stop):
                yield event
            if self._keeps_context:
                await turn.complete(run.state())


adapt = LlamaIndexAdapter
"""Wraps a workflow, with options."""
