"""Runs a workflow until it has a result, or waits for its caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workflows import Context
from workflows.events import InputRequiredEvent, StopEvent, UnhandledEvent, WorkflowIdleEvent

from a2a_adapters.concurrency import produced
from a2a_adapters_llama_index.serving.serializer import ContextSerializer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from workflows import Workflow
    from workflows.events import Event, StartEvent


class WorkflowRun:
    """One run of a workflow.

    Attributes:
        questions: The events that ask the caller and have no response.
        refused: Whether no step took the caller's response.
        stop: The event with the result, once the workflow has one.
        waiting: The context of a run that waits for its caller.

    Args:
        workflow: The workflow.
        state: The context to continue with.
        start: The event that starts the run; None to continue a run that waits.
        responses: The events that answer its questions.

    Raises:
        ContextSerdeError: The workflow cannot continue with this context.
    """

    def __init__(
        self,
        workflow: Workflow,
        state: Mapping[str, Any] | None,
        start: StartEvent | None,
        responses: Sequence[Event],
    ) -> None:
        self._workflow = workflow
        self._start = start
        self._responses = responses
        serializer = ContextSerializer(workflow)
        self._context: Context[Any] = Context(workflow, dict(state) if state else None, serializer)
        # Until these steps have been called again, any response would suit them.
        self._is_waking = state is not None and _has_requirements(state)
        self.questions: list[InputRequiredEvent] = []
        self.refused = False
        self.stop: StopEvent | None = None
        self.waiting: dict[str, Any] | None = None

    def events(self) -> AsyncGenerator[Event]:
        """Run the workflow and yield its events. Closing the generator cancels the run."""
        return produced(self._produce)

    def state(self) -> dict[str, Any]:
        """Return the context of a run that has ended.

        Raises:
            ValueError: It has a value that cannot be stored.
        """
        return self._context.to_dict()

    async def _produce(self, put: Callable[[Event], Awaitable[None]]) -> None:
        handler = self._workflow.run(ctx=self._context, start_event=self._start)
        try:
            if not self._is_waking:
                self._respond()
            async for event in handler.stream_events(expose_internal=True):
                match event:
                    case InputRequiredEvent():
                        self.questions.append(event)
                    case UnhandledEvent(idle=True):
                        self.refused = True
                        return
                    case WorkflowIdleEvent() if self._is_waking:
                        self._is_waking = False
                        self._respond()
                    case WorkflowIdleEvent() if self.questions:
                        self.waiting = self._context.to_dict()
                        return
                await put(event)
            self.stop = await handler.stop_event_result()
        finally:
            await handler.cancel_run()

    def _respond(self) -> None:
        for response in self._responses:
            self._context.send_event(response)


def _has_requirements(state: Mapping[str, Any]) -> bool:
    """Whether steps wait for events with certain values, which a stored context does not have."""
    waiters = (each for step in state["workers"].values() for each in step["collected_waiters"])
    return any(each["has_requirements"] for each in waiters)
