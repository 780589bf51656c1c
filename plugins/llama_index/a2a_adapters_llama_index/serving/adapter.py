"""A LlamaIndex workflow or agent as an adapter."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from workflows import Workflow

from a2a_adapters import AgentEvent, AgentRequest, InputRequired, Limits, Rejected, TargetError
from a2a_adapters.concurrency import PerLoop
from a2a_adapters.conversing import AskingRun, StoredTurn, StoredTurns, json_turns
from a2a_adapters.plugin import Adapter, AgentDescription, Factory, overrides
from a2a_adapters_llama_index.serving.events import RunEvents
from a2a_adapters_llama_index.serving.failures import failure
from a2a_adapters_llama_index.serving.input import start_event
from a2a_adapters_llama_index.serving.questions import asked, response
from a2a_adapters_llama_index.serving.run import Run
from a2a_adapters_llama_index.serving.serializer import ContextSerializer
from a2a_adapters_llama_index.serving.targets import (
    changes_text,
    copied,
    describe,
    has_own_agents,
    is_agent,
    last_steps,
)

if TYPE_CHECKING:
    from workflows.events import Event, StartEvent

    from a2a_adapters import OutboundPolicy
    from a2a_adapters.plugin import JSON, StateStorage

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]
_Turn: TypeAlias = StoredTurn[Any, AskingRun]

_REFUSED = Rejected("The agent did not wait for this reply; please start a new task.")


class LlamaIndexAdapter(Adapter):
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
        TargetError: The target is not a workflow, or its class overrides `run`.
    """

    def __init__(
        self,
        workflow: Workflow | Factory,
        *,
        keep_context: bool = True,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        example = workflow.example if isinstance(workflow, Factory) else workflow
        if not isinstance(example, Workflow):
            raise TargetError(f"{type(example).__name__} is not a workflow of LlamaIndex")
        if overrides(example, "run", ("llama_index.", "workflows.")):
            raise TargetError(
                f"{type(example).__name__} overrides run, which cannot change the answer of a run "
                "that is streamed: check it in the last step instead"
            )
        self.fetch = fetch
        self.holds_text = changes_text(example)
        self._example = example
        self._make = workflow if isinstance(workflow, Factory) else partial(copied, workflow)
        self._keeps_context = keep_context
        self._serializer = ContextSerializer(example)
        self._turns = StoredTurns(json_turns("llama-index", self._response), limits)
        runs = example._num_concurrent_runs  # noqa: SLF001 - copies would not be counted
        self._room: Callable[[], AbstractAsyncContextManager[Any]] = (
            PerLoop(lambda: asyncio.Semaphore(runs)) if runs else nullcontext
        )

    def describe(self) -> AgentDescription:
        """Describe the workflow by its name, its description and its tools."""
        return describe(self._example)

    async def open(self, storage: StateStorage) -> None:
        """Keep conversations, and questions, in the server's storage."""
        self._turns.open(storage)

    def stream(self, request: AgentRequest) -> _Events:
        """Run the workflow, or continue after its question.

        Raises:
            InvalidInputError: The message is empty, or not what the workflow takes.
        """
        start = None if request.resuming else start_event(self._example, request)
        return self._answer(request, start)

    async def abandon(self, request: AgentRequest) -> None:
        """Restore the conversation from before the task of the question."""
        await self._turns.abandon(request)

    def _response(self, asked: Mapping[str, Any], reply: JSON) -> Event:
        return response(self._serializer, asked, reply)

    def _streaming(self, workflow: Workflow) -> Collection[str] | None:
        """Return the steps whose text is streamed; None for all of an agent."""
        if not is_agent(workflow):
            return last_steps(workflow)
        # An agent that a function makes may differ from the one that was served.
        return () if changes_text(workflow) and not self.holds_text else None

    async def _answer(self, request: AgentRequest, start: StartEvent | None) -> _Events:
        turn = await self._turns.begin(request)
        if isinstance(turn, Rejected | InputRequired):
            yield turn
            return
        made, paused = self._make(), turn.before.paused
        workflow: Workflow = await made if inspect.isawaitable(made) else made
        state, tools, responses = turn.before.state, {}, []
        if paused:
            state, tools = paused.state["context"], paused.state["tools"]
            given = paused.answers.items()
            responses = [self._response(paused.questions[key], value) for key, value in given]
        events = RunEvents(
            wants_progress=request.wants_progress,
            streaming=self._streaming(workflow),
            shows_thoughts=not has_own_agents(workflow),
            tools=tools,
        )
        try:
            run = Run(workflow, state, start, responses)
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
        self, request: AgentRequest, turn: _Turn, run: Run, events: RunEvents
    ) -> _Events:
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
