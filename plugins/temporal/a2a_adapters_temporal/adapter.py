"""A workflow of Temporal as an adapter."""

from __future__ import annotations

import asyncio
import inspect
import logging
import types
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias, get_type_hints

from a2a_adapters_functions import FunctionAdapter
from a2a_adapters_functions.serving.results import returned_events
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.contrib.workflow_streams import WorkflowStreamClient, WorkflowStreamItem
from temporalio.exceptions import (
    ApplicationError,
    CancelledError,
    FailureError,
    TerminatedError,
    TimeoutError,  # noqa: A004 - Temporal's
    WorkflowAlreadyStartedError,
)
from temporalio.service import RPCError, RPCStatusCode

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    File,
    InputRequired,
    InvalidInputError,
    Rejected,
    TargetError,
    TextDelta,
)
from a2a_adapters.concurrency import PerLoop, let_fail, until
from a2a_adapters.plugin import (
    QUESTION_CLOSED,
    AgentFailedError,
    AnswerText,
    ResumeError,
    check_arguments,
    model_failure,
)
from a2a_adapters_temporal.workflow import REPLY, TOPIC, A2AFile, A2ARequest

logger = logging.getLogger(__name__)

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]
_Handle: TypeAlias = WorkflowHandle[Any, Any]

_Said: TypeAlias = tuple[str | None, int | None, str]
"""The activity of a text, its attempt, and the text."""

_PAUSE_SECONDS = 1.0
"""Time until the stream of a workflow without live workers is read again."""

_FILE_BYTES = 1 << 20
"""The size of a message's files together; as base64, they fit into Temporal's 2 MB a payload."""

_OWNER = "a2a_owner"
"""The entry of a workflow's memo with the authenticated user."""


class TemporalWorkflow(FunctionAdapter):
    """Serves a workflow that workers of Temporal run.

    A message starts the workflow, whose id is the id of the task. Arguments and results are those
    of a served function; a parameter of the type `A2ARequest` gets the whole message.

    Args:
        client: The client of Temporal, or an async function that connects one.
        run: The method with `@workflow.run`.
        task_queue: The task queue of its workers.
        name: The agent's name; by default the workflow's.
        description: The agent's description; by default the docstring of `run`.

    Raises:
        TargetError: A message cannot set the arguments.
    """

    def __init__(
        self,
        client: Client | Callable[[], Awaitable[Client]],
        run: Callable[..., Awaitable[Any]],
        *,
        task_queue: str,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        if not inspect.iscoroutinefunction(run):
            raise TargetError(f"{run!r} is not a method with @workflow.run")
        check_arguments(TemporalWorkflow, locals(), {"task_queue"})
        name = name or run.__qualname__.removesuffix(f".{run.__name__}").rpartition(".")[2]
        self._takes_request = A2ARequest in get_type_hints(run).values()
        function = _request_only(run) if self._takes_request else types.MethodType(run, object())
        super().__init__(function, name=name, description=description, durable=True)
        self._client = client
        self._connected: Client | None = client if isinstance(client, Client) else None
        self._connecting = PerLoop(asyncio.Lock)
        self._run = run
        self._task_queue = task_queue

    def stream(self, request: AgentRequest) -> _Events:
        """Start the workflow, or hand it the reply to its question.

        Raises:
            InvalidInputError: The message does not set the workflow's arguments.
        """
        if request.resuming:
            return self._events(request, self._answered)
        return self._events(request, partial(self._started, arguments=self._arguments(request)))

    def resume(self, request: AgentRequest) -> _Events:
        """Follow the workflow, which its workers continue."""
        return self._events(request, self._taken_over)

    async def had_effect(self, request: AgentRequest) -> bool:
        """Return whether the workflow was started."""
        return await self._owner(await self._handle(request)) is not None

    async def abandon(self, request: AgentRequest) -> None:
        """Cancel the workflow that waits for an answer."""
        await _cancel(await self._handle(request))

    async def _handle(self, request: AgentRequest) -> _Handle:
        client = await self._connect()
        return client.get_workflow_handle_for(self._run, request.task_id)

    async def _connect(self) -> Client:
        async with self._connecting():
            if self._connected is None:
                assert not isinstance(self._client, Client)  # noqa: S101
                self._connected = await self._client()
        return self._connected

    def _arguments(self, request: AgentRequest) -> list[Any]:
        if self._takes_request:
            return [_of(request)]
        call = self.bind(request)
        bound = inspect.signature(call.func).bind(*call.args, **call.keywords)
        bound.apply_defaults()
        return list(bound.arguments.values())

    async def _events(
        self,
        request: AgentRequest,
        begin: Callable[[AgentRequest], Awaitable[_Handle | Rejected]],
    ) -> _Events:
        """Follow a workflow to its end, or to its next question."""
        beginning = asyncio.ensure_future(begin(request))
        try:
            handle = await asyncio.shield(beginning)
            if isinstance(handle, Rejected):
                yield handle
                return
            async with aclosing(self._followed(request, handle)) as events:
                async for event in events:
                    yield event
        except WorkflowFailureError as error:
            raise _failure(error.cause) from error
        except (asyncio.CancelledError, GeneratorExit):
            # Not if the server stops, or another process has taken the task over.
            if request.cancelled.is_set and not request.cancelled.left_behind:
                await asyncio.wait({beginning})
                await _cancel(await self._handle(request))
            raise

    async def _followed(self, request: AgentRequest, handle: _Handle) -> _Events:
        offset = request.resume_metadata.get("offset") if request.resuming else 0
        said: list[_Said] = []
        client, ended = await self._connect(), asyncio.ensure_future(_result(handle))
        ended.add_done_callback(let_fail)
        try:
            async with aclosing(_written(client, handle.id, _number(offset), ended)) as items:
                async for place, item in items:
                    if "ask" in item:
                        metadata = {"offset": place, "number": item["number"]}
                        yield InputRequired(item["ask"], metadata=metadata, durable=True)
                        return
                    new = item.get("activity"), item.get("attempt"), str(item["text"])
                    kept = [each for each in said if not _repeats(new, each)]
                    is_repeated = len(kept) < len(said)
                    said = [*kept, new]
                    yield AnswerText(_text(said)) if is_repeated else TextDelta(new[2])
            result = await ended
        finally:
            ended.cancel()
        if not isinstance(result, str) or not said:
            for event in returned_events(result, self._signature.results):
                yield event
        elif result != _text(said):
            yield AnswerText(result, of_task=request.resuming)

    async def _started(self, request: AgentRequest, arguments: list[Any]) -> _Handle:
        """Start the workflow, or find the one that was started, even if it has ended."""
        client = await self._connect()
        try:
            return await client.start_workflow(
                self._run,
                args=arguments,
                id=request.task_id,
                task_queue=self._task_queue,
                memo={_OWNER: request.owner},
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            )
        except WorkflowAlreadyStartedError:
            return await self._handle(request)

    async def _answered(self, request: AgentRequest) -> _Handle | Rejected:
        """Send the reply to the waiting workflow."""
        handle = await self._handle(request)
        if await self._owner(handle) != request.owner:
            return QUESTION_CLOSED
        try:
            number = _number(request.resume_metadata.get("number"))
            await handle.signal(REPLY, args=[number, _of(request)])
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:  # it has ended meanwhile
                raise
        return handle

    async def _taken_over(self, request: AgentRequest) -> _Handle | Rejected:
        if request.resuming:
            return await self._answered(request)
        handle = await self._handle(request)
        owner = await self._owner(handle)
        if owner is None and not request.said:
            return await self._started(request, self._arguments(request))
        if owner != request.owner:  # also if its history was deleted
            raise ResumeError("The agent's workflow no longer exists; start a new task.")
        return handle

    async def _owner(self, handle: _Handle) -> str | None:
        """Return the authenticated user of a workflow; None if there is no workflow."""
        try:
            description = await handle.describe()
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return None
            raise
        return str(await description.memo_value(_OWNER, ""))


async def _written(
    client: Client, workflow_id: str, offset: int, ended: asyncio.Future[Any]
) -> AsyncGenerator[tuple[int, dict[str, Any]]]:
    """Yield the events and questions of a workflow until it ends; none without an `A2ACaller`."""
    stream = WorkflowStreamClient.create(client, workflow_id)
    while True:
        is_over = ended.done()
        items = _items(stream, offset)
        try:
            async with aclosing(items if is_over else until(ended, items)) as found:
                async for item in found:
                    offset = item.offset + 1
                    yield offset, item.data
        except (WorkflowUpdateFailedError, WorkflowQueryFailedError):
            return  # it has no `A2ACaller`
        except (RPCError, WorkflowUpdateRPCTimeoutOrCancelledError) as error:
            if is_over:
                logger.warning("workflow %s: its last text cannot be read: %s", workflow_id, error)
            else:  # no worker answers at the moment
                await asyncio.wait({ended}, timeout=_PAUSE_SECONDS)
        if is_over:
            return


async def _items(
    stream: WorkflowStreamClient, offset: int
) -> AsyncGenerator[WorkflowStreamItem[Any]]:
    async for item in stream.subscribe([TOPIC], from_offset=offset):
        yield item


async def _result(handle: _Handle) -> Any:
    """Return the result of a workflow, however long it runs."""
    while True:
        try:
            return await handle.result()
        except RuntimeError:  # Temporal's test server ends long polls without an event
            description = await handle.describe()
            if description.status != WorkflowExecutionStatus.RUNNING:
                raise


async def _cancel(handle: _Handle) -> None:
    try:
        await handle.cancel()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:  # it has ended
            raise


def _request_only(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the documentation of `run` that takes a request."""

    async def function(request: AgentRequest) -> Any: ...

    function.__doc__ = run.__doc__
    return function


def _of(request: AgentRequest) -> A2ARequest:
    """Return a message as Temporal stores it.

    Raises:
        InvalidInputError: Its files are too large to be stored with it.
    """
    if sum(len(file.content or b"") for file in request.files) > _FILE_BYTES:
        raise InvalidInputError("this agent takes files of up to 1 MiB together")
    return A2ARequest(
        text=request.text,
        data=list(request.data),
        files=[_file(file) for file in request.files],
        owner=request.owner,
        context_id=request.context_id,
        metadata=dict(request.metadata),
        message_id=request.message.message_id,
    )


def _file(file: File) -> A2AFile:
    content = b64encode(file.content or b"").decode()
    return A2AFile(content, file.url or "", file.guess_media_type(), file.filename)


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _repeats(new: _Said, earlier: _Said) -> bool:
    """Whether text comes from another attempt of the same activity."""
    return new[0] is not None and new[0] == earlier[0] and new[1] != earlier[1]


def _text(said: list[_Said]) -> str:
    return "".join(text for _, _, text in said)


def _failure(error: BaseException | None) -> AgentFailedError:
    """Return the failure of a workflow, by the class of the exception behind it."""
    if isinstance(error, CancelledError | TerminatedError):
        return AgentFailedError("limit", "The agent's workflow was cancelled.")
    while error is not None:
        if isinstance(error, TimeoutError):
            return AgentFailedError("limit")
        if isinstance(error, ApplicationError) and (found := model_failure(error.type or "")):
            return found
        error = error.cause if isinstance(error, FailureError) else None
    return AgentFailedError()
