"""A workflow of DBOS as an adapter."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters_functions import FunctionAdapter
from dbos import DBOS, DBOSContextSetAuth, PropagateOtelContext, SetWorkflowID
from dbos import error as errors

from a2a_adapters import AgentEvent, AgentRequest, ConfigurationError, Rejected, TargetError
from a2a_adapters.concurrency import let_fail
from a2a_adapters.plugin import (
    QUESTION_CLOSED,
    AgentFailedError,
    ResumeError,
    StateStorage,
    check_arguments,
    model_failure,
)
from a2a_adapters_dbos.serving.answer import Answer, written
from a2a_adapters_dbos.workflow import Asked, Emitted, Silence, silences

if TYPE_CHECKING:
    from dbos import WorkflowHandleAsync, WorkflowStatus

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]
_Handle: TypeAlias = "WorkflowHandleAsync[Any]"

_POLL_SECONDS = 0.25
"""Interval for noticing the end of a workflow that another process runs: DBOS has no signal."""

_DEAF_SECONDS = 5.0
"""Time after which a workflow's process counts as dead if it does not take its reply."""

logger = logging.getLogger(__name__)


class WorkflowAdapter(FunctionAdapter):
    """Serves a function with `@DBOS.workflow()`, by default in the server's own process.

    A message starts the workflow, whose id is the id of the task. Arguments and results are those
    of a served function. The workflow sees the caller as `DBOS.authenticated_user`, with the scopes
    of the caller's token as `DBOS.authenticated_roles`. When a process dies, the one that takes its
    task over resumes the workflow after its last finished step.

    Args:
        workflow: The workflow.
        name: The agent's name; by default the function's.
        description: The agent's description; by default the first paragraph of the docstring.
        queue: The name of a DBOS queue whose workers run the workflow; by default the server does.

    Raises:
        TargetError: The workflow yields, or a message cannot set its arguments.
    """

    def __init__(
        self,
        workflow: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        queue: str | None = None,
    ) -> None:
        if inspect.isgeneratorfunction(workflow) or inspect.isasyncgenfunction(workflow):
            raise TargetError(
                f"{getattr(workflow, '__name__', workflow)} yields, but a workflow of DBOS returns "
                "its answer; send text before that with emit(...), and ask with ask(...)"
            )
        check_arguments(WorkflowAdapter, locals())
        super().__init__(workflow, name=name, description=description, durable=True)
        self._queue = queue
        self._is_launched = False

    async def open(self, storage: StateStorage) -> None:
        """Launch DBOS, unless it runs.

        Raises:
            ConfigurationError: There is no DBOS.
        """
        await self._launch()
        if storage.url.startswith("postgresql") and DBOS.executor_id == "local":
            logger.warning(
                "DBOS has its default executor_id: before you start a second process, give each "
                "one its own, DBOSConfig(executor_id=...) or DBOS__VMID"
            )

    def stream(self, request: AgentRequest) -> _Events:
        """Start the workflow, or hand it the reply to its question.

        Raises:
            InvalidInputError: The message does not set the workflow's arguments.
        """
        if request.resuming:
            return self._events(request, self._answered)
        return self._events(request, partial(self._started, call=self._bound(request)))

    def resume(self, request: AgentRequest) -> _Events:
        """Resume the workflow of a dead process, unless DBOS does."""
        return self._events(request, self._taken_over)

    async def had_effect(self, request: AgentRequest) -> bool:
        """Return whether the workflow was started."""
        await self._launch()
        return await DBOS.get_workflow_status_async(request.task_id) is not None

    async def abandon(self, request: AgentRequest) -> None:
        """Cancel the workflow that waits for an answer."""
        await self._launch()
        await _cancel(request.task_id)
        if topic := request.resume_metadata.get("topic"):  # wakes it: DBOS does not
            await DBOS.send_async(request.task_id, None, str(topic))

    async def _launch(self) -> None:
        if not self._is_launched:
            await asyncio.to_thread(_launch)
            self._is_launched = True

    def _bound(self, request: AgentRequest) -> partial[Any]:
        return self.bind(request.detached())

    async def _events(
        self,
        request: AgentRequest,
        begin: Callable[[AgentRequest], Awaitable[_Handle | Rejected]],
    ) -> _Events:
        """Follow a workflow to its end, or to its next question."""
        await self._launch()
        beginning = asyncio.ensure_future(begin(request))
        try:
            handle = await asyncio.shield(beginning)
            if isinstance(handle, Rejected):
                yield handle
                return
            async with aclosing(self._followed(request, handle)) as events:
                async for event in events:
                    yield event
        except errors.DBOSNotAuthorizedError:
            yield Rejected("You do not have the role that this agent requires.")
        except errors.DBOSAwaitedWorkflowCancelledError as error:
            message = "The agent's workflow was cancelled, or its time was up."
            raise AgentFailedError("limit", message) from error
        except errors.DBOSAwaitedWorkflowMaxRecoveryAttemptsExceeded as error:
            raise AgentFailedError("limit") from error
        except errors.DBOSMaxStepRetriesExceeded as error:
            raise _of_attempts(error) from error
        except (asyncio.CancelledError, GeneratorExit):
            # Not if the server stops, or another process has taken the task over.
            if request.cancelled.is_set and not request.cancelled.left_behind:
                await asyncio.wait({beginning})
                await _cancel(request.task_id)
            raise
        finally:
            silences.pop(request.task_id, None)

    async def _followed(self, request: AgentRequest, handle: _Handle) -> _Events:
        offset = request.resume_metadata.get("offset") if request.resuming else None
        offset = offset if isinstance(offset, int) else 0
        answer = Answer(self._signature.results, is_continued=request.resuming)
        ended = asyncio.ensure_future(handle.get_result(polling_interval_sec=_POLL_SECONDS))
        reviving = asyncio.ensure_future(self._revived(request)) if request.resuming else None
        try:
            async with aclosing(written(request.task_id, offset, ended)) as values:
                async for value in values:
                    offset += 1
                    if reviving:
                        reviving.cancel()
                    if isinstance(value, Emitted):
                        yield answer.take(value)
                    elif isinstance(value, Asked):
                        yield value.as_event(offset)
                        return
            for event in answer.end(await ended):
                yield event
        finally:
            ended.add_done_callback(let_fail)
            ended.cancel()
            if reviving:
                reviving.cancel()

    async def _started(self, request: AgentRequest, call: partial[Any]) -> _Handle:
        """Start the workflow, or find the one that was started."""
        if not self._queue:
            silences[request.task_id] = Silence()
        if inspect.iscoroutinefunction(call.func):
            with SetWorkflowID(request.task_id), _caller(request), _trace():
                if self._queue:
                    return await DBOS.enqueue_workflow_async(
                        self._queue, call.func, *call.args, **call.keywords
                    )
                return await DBOS.start_workflow_async(call.func, *call.args, **call.keywords)
        await asyncio.to_thread(self._start_blocking, request, call)
        return await DBOS.retrieve_workflow_async(request.task_id)

    def _start_blocking(self, request: AgentRequest, call: partial[Any]) -> None:
        with SetWorkflowID(request.task_id), _caller(request), _trace():
            if self._queue:
                DBOS.enqueue_workflow(self._queue, call.func, *call.args, **call.keywords)
            else:
                DBOS.start_workflow(call.func, *call.args, **call.keywords)

    async def _answered(self, request: AgentRequest) -> _Handle | Rejected:
        """Send the reply to the waiting workflow."""
        if _of_caller(await DBOS.get_workflow_status_async(request.task_id), request) is None:
            return QUESTION_CLOSED
        await DBOS.send_async(
            request.task_id,
            request.detached(),
            str(request.resume_metadata.get("topic", "")),
            idempotency_key=request.message.message_id,
        )
        return await DBOS.retrieve_workflow_async(request.task_id)

    async def _taken_over(self, request: AgentRequest) -> _Handle | Rejected:
        status = _of_caller(await DBOS.get_workflow_status_async(request.task_id), request)
        if status is None:
            if request.resuming or request.said:  # its history was deleted
                raise ResumeError("The agent's workflow no longer exists; start a new task.")
            return await self._started(request, self._bound(request))
        if request.resuming:
            await self._answered(request)
        if not self._queue and not _runs_here(request.task_id):
            await self._resume(status)
        return await DBOS.retrieve_workflow_async(request.task_id)

    async def _revived(self, request: AgentRequest) -> None:
        """Resume a workflow whose process died while it waited; DBOS keeps others from writing."""
        await asyncio.sleep(_DEAF_SECONDS)
        status = await DBOS.get_workflow_status_async(request.task_id)
        if status is not None and not _runs_here(request.task_id):
            await self._resume(status)

    async def _resume(self, status: WorkflowStatus) -> None:
        if status.status != "PENDING":
            return
        if status.app_version != DBOS.application_version and not self._queue:
            logger.error(
                "workflow %s was started by version %s of the application, and this is %s: give "
                "both the same DBOSConfig(application_version=...) if this one can resume it",
                status.workflow_id,
                status.app_version,
                DBOS.application_version,
            )
            raise ResumeError("The agent was updated meanwhile; please start a new task.")
        await DBOS.resume_workflow_async(status.workflow_id, queue_name=self._queue)


def _launch() -> None:
    try:
        DBOS.get_workflow_status("a2a")
    except errors.DBOSException:  # it does not run
        try:
            DBOS.launch()
        except errors.DBOSException as error:
            raise ConfigurationError(
                "DBOS cannot be launched; create it before serving a workflow, with "
                f"DBOS(config={{'name': ..., 'system_database_url': ...}}): {error}"
            ) from error


def _caller(request: AgentRequest) -> DBOSContextSetAuth:
    return DBOSContextSetAuth(request.owner or None, sorted(request.caller.scopes))


def _trace() -> AbstractContextManager[object]:
    """Return a context in which workflows continue the current trace, wherever they run."""
    return PropagateOtelContext() if "opentelemetry.trace" in sys.modules else nullcontext()


def _of_caller(status: WorkflowStatus | None, request: AgentRequest) -> WorkflowStatus | None:
    """Return a workflow if the request's caller began it."""
    is_own = status is not None and (status.authenticated_user or "") == request.owner
    return status if is_own else None


def _runs_here(workflow_id: str) -> bool:
    """Whether this process runs a workflow; DBOS resumes some of them when it is launched."""
    from dbos._dbos import _get_dbos_instance  # noqa: PLC0415 - nothing public tells

    return workflow_id in _get_dbos_instance()._active_workflows_set.activeList()  # noqa: SLF001


async def _cancel(workflow_id: str) -> None:
    await DBOS.cancel_workflow_async(workflow_id, cancel_children=True)


def _of_attempts(error: errors.DBOSMaxStepRetriesExceeded) -> AgentFailedError:
    """Return the failure of a step by the exception of its last attempt."""
    return (model_failure(error.errors[-1]) if error.errors else None) or AgentFailedError("tool")


adapt = WorkflowAdapter
"""Wraps a workflow, with options."""
