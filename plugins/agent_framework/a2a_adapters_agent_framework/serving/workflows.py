"""A workflow of Agent Framework as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from agent_framework import (
    FunctionExecutor,
    InMemoryCheckpointStorage,
    Message,
    Workflow,
    WorkflowCheckpointException,
    WorkflowConvergenceException,
    WorkflowEvent,
    WorkflowExecutor,
)

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Limits,
    Rejected,
    TargetError,
)
from a2a_adapters.concurrency import produced
from a2a_adapters.conversing import ConversingAdapter, Events, StoredTurn, TurnKind
from a2a_adapters.plugin import AgentDescription, Factory, MadeAnew, check_arguments, per_request
from a2a_adapters_agent_framework.serving.checkpoints import decoded, encoded, register_types
from a2a_adapters_agent_framework.serving.failures import (
    FILTERED,
    blocked,
    failure,
    filtered,
    is_filtered,
    limited,
)
from a2a_adapters_agent_framework.serving.guards import changes_calls_in, changes_outputs
from a2a_adapters_agent_framework.serving.input import as_message, as_object
from a2a_adapters_agent_framework.serving.requests import (
    PausedWorkflow,
    answered,
    question,
    responses,
)
from a2a_adapters_agent_framework.serving.workflow_events import WorkflowEvents

if TYPE_CHECKING:
    from agent_framework import CheckpointStorage, WorkflowCheckpoint

    from a2a_adapters import OutboundPolicy

REQUEST_KEY = "a2a"
"""The key of the ids of the request in the `kwargs` of a tool's `FunctionInvocationContext`."""
_Turn: TypeAlias = StoredTurn[str, PausedWorkflow]

_KIND: TurnKind[str, PausedWorkflow] = TurnKind.of_json(
    "agent-framework-workflow", PausedWorkflow, question, answered
)


class WorkflowAdapter(ConversingAdapter[str, PausedWorkflow, object]):
    """Serves a `Workflow` of Agent Framework.

    A workflow keeps the messages of its last run, and runs once at a time, so a function makes one
    for every run. It gets the earlier messages of the conversation if its first executor takes a
    list of messages. A run that waits for its caller is stored as a checkpoint. Tools of agents
    find the owner and the ids of the request in `ctx.kwargs["a2a"]`.

    Args:
        workflow: A `Factory` that makes the workflow for every run. The card describes it.
        limits: Bounds the in-memory questions of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target is not a function that makes a `Workflow`, or does not make its
            executors anew.
    """

    uses_history = True

    def __init__(
        self,
        workflow: Factory,
        *,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        if not isinstance(workflow.example, Workflow):
            raise TargetError(f"{type(workflow.example).__name__} is not a Workflow")
        check_arguments(WorkflowAdapter, locals())
        super().__init__(_KIND, limits=limits, fetch=fetch)
        self._example: Workflow = workflow.example
        self._name = getattr(workflow.make, "__name__", "workflow").strip("<>")
        self._make: Callable[[AgentRequest], Awaitable[Workflow]] = per_request(workflow)
        self._anew = MadeAnew(_stateful_parts, "workflow and its executors")
        self._anew.check_factory(workflow)
        register_types(workflow.example)

    @property
    def holds_text(self) -> bool:  # type: ignore[override]  # middleware may be added later
        """Whether middleware of an agent may change its answer, which is then not streamed."""
        return changes_outputs(self._example)

    def describe(self) -> AgentDescription:
        """Describe the workflow by its name and its description."""
        name = self._example.name
        if name.startswith("WorkflowBuilder-"):  # and a random id
            name = self._name
        description = self._example.description or f"The workflow {name}."
        return AgentDescription(name=name, description=description)

    def prompt(self, request: AgentRequest) -> object:
        """Return the message as the first executor of the workflow takes it.

        Raises:
            InvalidInputError: It refers to a file by URL, or does not fit the workflow's input.
        """
        return _input(self._example, request)

    async def run(self, request: AgentRequest, turn: _Turn, prompt: object) -> Events:
        """Run the workflow, and ask what its executors request."""
        workflow = await self._make(request)
        self._anew.check(workflow)
        checkpoints = InMemoryCheckpointStorage()
        events = WorkflowEvents(
            wants_progress=request.wants_progress, checks_calls=changes_calls_in(workflow)
        )
        run = _run(workflow, prompt, request, turn.before.paused, checkpoints)
        try:
            async with aclosing(run) as items:
                async for item in items:
                    for each in events.take(item):
                        yield each
        except Exception as error:
            for each in _rejection(error):
                yield each
            return
        for event in events.end():
            yield event
        if events.is_filtered:
            yield FILTERED
            raise filtered()
        rejected = _rejections(events)
        for event in rejected:
            yield event
        if events.requests and not rejected:
            checkpoint = await checkpoints.load(workflow.get_last_checkpoint_id() or "")
            for event in events.accepted():
                yield event
            yield await self._asking(request, turn, checkpoint, events)

    async def _asking(
        self,
        request: AgentRequest,
        turn: _Turn,
        checkpoint: WorkflowCheckpoint,
        events: WorkflowEvents,
    ) -> InputRequired:
        self._check_graph(checkpoint)
        waiting = PausedWorkflow(request.task_id, encoded(checkpoint), events.requests)
        await turn.pause(waiting)
        return question(waiting)

    def _check_graph(self, checkpoint: WorkflowCheckpoint) -> None:
        """Check that another workflow of the function can continue from a checkpoint.

        Raises:
            TargetError: Each workflow that the function makes is another graph.
        """
        if checkpoint.graph_signature_hash != self._example.graph_signature_hash:
            raise TargetError(
                "the workflow asks, but each one that its function makes is another graph: give "
                "agents names, and executors ids"
            )


def _stateful_parts(workflow: Workflow) -> Iterator[object]:
    """Yield a workflow and its executors, except those that only call a function."""
    yield workflow
    for executor in workflow.executors.values():
        if type(executor) is not FunctionExecutor:
            yield executor
        if isinstance(executor, WorkflowExecutor):
            yield from _stateful_parts(executor.workflow)


def _rejections(events: WorkflowEvents) -> list[AgentEvent]:
    """Return the rejection of a run that a limit ended, or that cannot be answered."""
    if events.is_limited:
        return limited()
    text = f"The agent needs something that it cannot ask for here: {events.unknown}."
    return [Rejected(text)] if events.unknown else []


def _rejection(error: Exception) -> Iterator[AgentEvent]:
    """Yield the rejection if a limit or a change of the workflow ended the run.

    Raises:
        BlockedError: A filter or a policy ended the run.
        AgentFailedError: The model caused the error.
        Exception: Any other error.
    """
    if isinstance(error, WorkflowConvergenceException):
        yield from limited("The workflow reached its limit of steps.")
    elif isinstance(error, WorkflowCheckpointException):
        yield Rejected("The workflow has changed since it asked; please start a new task.")
    else:
        if is_filtered(error):
            yield FILTERED
        if found := blocked(error) or failure(error):
            raise found from error
        raise error


def _input(workflow: Workflow, request: AgentRequest) -> object:
    """Return the message as the first executor of the workflow takes it."""
    message, types = as_message(request), workflow.input_types
    if list[str | Message] in types or list[Message] in types:
        return [*_earlier(request), message]
    if Message in types:
        return message
    if any(isinstance(part, File) for part in request.parts):
        raise InvalidInputError("this workflow takes no files")
    own = next((kind for kind in types if _is_own(kind)), None)
    has_data = any(isinstance(part, Data) for part in request.parts)
    if own and (has_data or str not in types):
        return as_object(request, own)
    if str in types:
        return message.text
    raise InvalidInputError("this workflow takes neither text nor data")


def _is_own(kind: object) -> TypeGuard[type]:
    is_type = isinstance(kind, type) and kind is not str
    return is_type and not kind.__module__.startswith("agent_framework")


def _earlier(request: AgentRequest) -> list[Message]:
    roles = {"user": "user", "agent": "assistant"}
    return [Message(roles[turn.role], [turn.text]) for turn in request.history if turn.text]


def _run(
    workflow: Workflow,
    message: object,
    request: AgentRequest,
    paused: PausedWorkflow | None,
    checkpoints: CheckpointStorage,
) -> AsyncGenerator[WorkflowEvent[Any]]:
    """Run the workflow in a task of its own, whose cancellation stops all executors."""

    async def produce(put: Callable[[WorkflowEvent[Any]], Awaitable[None]]) -> None:
        run = partial(
            workflow.run,
            message,
            responses=responses(paused) if paused else None,
            checkpoint_id=await checkpoints.save(decoded(paused.checkpoint)) if paused else None,
            checkpoint_storage=checkpoints,
            function_invocation_kwargs={REQUEST_KEY: _ids(request)},
        )
        if changes_outputs(workflow):
            for event in await run(stream=False):
                await put(event)
            return
        async for event in run(stream=True):
            await put(event)

    return produced(produce)


def _ids(request: AgentRequest) -> dict[str, str]:
    """Return the ids of a request that tools may know; the checkpoints contain them."""
    return {
        "owner": request.owner,
        "task_id": request.task_id,
        "context_id": request.context_id,
    }
