"""Sends a message to a remote agent, after failures again where that is safe; follows its task."""

from __future__ import annotations

import asyncio
import math
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from a2a.client import ClientCallContext
from a2a.extensions.common import HTTP_EXTENSION_HEADER
from a2a.types import CancelTaskRequest, GetTaskRequest, StreamResponse

from a2a_adapters.calling.answer import Answer
from a2a_adapters.calling.auth import CallAuth, call_auth
from a2a_adapters.calling.errors import (
    RemoteAgentError,
    RemoteAnswerError,
    RemoteConnectionError,
    RemoteTaskError,
    RemoteTimeoutError,
)
from a2a_adapters.calling.failures import (
    BusyError,
    back_off,
    may_have_begun,
    refuses_streams,
    reraise,
    retried,
    translate,
)
from a2a_adapters.calling.reply import AgentReply
from a2a_adapters.calling.resuming import has_broken_off, resumed, settling
from a2a_adapters.concurrency import in_background, within
from a2a_adapters.concurrency.background import leave_open, note_closed
from a2a_adapters.concurrency.threads import computed_if_large
from a2a_adapters.contract.adapter import current_request
from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.contract.parts import join_text
from a2a_adapters.contract.telemetry import ObservedCall
from a2a_adapters.contract.text import quote
from a2a_adapters.protocol.card import DEDUPLICATION_EXTENSION

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Coroutine,
        Mapping,
    )

    from a2a.types import SendMessageRequest, Task, TaskStatus

    from a2a_adapters.calling.answer import NewEvent
    from a2a_adapters.calling.connection import Connection
    from a2a_adapters.calling.options import RemoteOptions
    from a2a_adapters.calling.reply import RemoteEvent, ReplyState

_OUTAGE_SECONDS = 300.0
"""Time for which a task is followed without limit while its agent is unreachable."""

_CANCEL_SECONDS = 5.0
_END_SECONDS = 0.1
_LEAVE_SECONDS = 1.0
"""Time that an early exit waits for the cancellation, which continues in the background."""

_ENDS: Mapping[ReplyState, str] = {
    "failed": "the agent's task failed",
    "rejected": "the agent rejected the task",
    "canceled": "the agent's task was cancelled",
}


async def final_reply(events: AsyncIterator[RemoteEvent]) -> AgentReply:
    """Return the last item of a stream, which is the complete answer."""
    async for event in events:
        reply = event
    assert isinstance(reply, AgentReply)  # noqa: S101 - a stream without one raises
    return reply


class Exchange:
    """Sends a message and follows its task until it is terminal or interrupted.

    If the connection breaks before any response, the message is resent under its id, unless it
    might then be answered twice. A broken stream is resumed by subscribing to the task, or else by
    polling it. Leaving early cancels the task.

    Args:
        connection: The connection to the agent.
        request: The message.
        options: Limits and preferences.
        credentials: Headers and credentials for servers that may get them.
        cancel: Cancels a task of the agent.
        after: Returns the reply as interceptors leave it.

    Attributes:
        forget: Called with the id of a task whose question is no longer answered.
        is_cancelled: Whether the task was cancelled because the reader left early.
        context_id: The agent's contextId, known when the events have ended.
    """

    def __init__(
        self,
        connection: Connection,
        request: SendMessageRequest,
        options: RemoteOptions,
        credentials: CallAuth,
        cancel: Callable[[str], Coroutine[Any, Any, object]],
        after: Callable[[AgentReply], Awaitable[AgentReply]],
    ) -> None:
        self._credentials = credentials
        self._cancel = cancel
        self._after = after
        self.forget: Callable[[str], object] | None = None
        self._connection = connection
        self._transport = connection.transport
        self._card = connection.card
        self._can_stream = connection.streams
        self._falls_back = False
        self._request = request
        self._options = options
        self._may_resend = _may_resend(connection, options)
        self._context = _call_context(connection, options)
        self._answer = Answer(status_text=connection.status_text)
        self._observed = ObservedCall()
        self._step: AbstractContextManager[None] = nullcontext()
        self._continues_task = bool(request.message.task_id)
        self.is_cancelled = False
        self.context_id = ""

    def events(self) -> AsyncGenerator[NewEvent | AgentReply]:
        """Send the message, yield the answer as it arrives, and finally the complete reply.

        Raises:
            RemoteAgentError: The call failed.
        """
        name = "SendStreamingMessage" if self._can_stream else "SendMessage"
        return self._read(name, self._responses(), cancels=True)

    async def start(self) -> AgentReply:
        """Send the message and return the answer so far, as soon as its task exists.

        Raises:
            RemoteAgentError: The call failed.
        """
        self._can_stream = self._continues_task = False
        self._request.configuration.return_immediately = True
        self._observe("SendMessage")
        with self._observed.whole():
            async with aclosing(self._responses()) as responses:
                deadline = asyncio.get_running_loop().time() + self._options.timeout
                if (response := await self._next(responses, deadline)) is not None:
                    self._answer.fold(response)
            reply = self._answer.finish()[1]
            self._observed.note(reply)
        return reply if reply.task_id else await self._after(reply)

    def follow(
        self,
        task_id: str,
        old_status: TaskStatus | None,
        news: Callable[[], Awaitable[None]] | None,
    ) -> AsyncGenerator[NewEvent | AgentReply]:
        """Yield the answer of a task from its beginning, and finally the complete reply.

        Leaving early does not cancel the task.

        Args:
            task_id: The task.
            old_status: The question that was answered, if any: it does not end the answer.
            news: Waits for a change of the task; see `resumed`.

        Raises:
            RemoteAgentError: The call failed.
        """
        self._answer.task_id, self._answer.old_status = task_id, old_status
        seconds = self._options.timeout
        rest = resumed(
            self._connection,
            self._answer,
            self._context,
            self._options.retries,
            news,
            patience=seconds if math.isfinite(seconds) else _OUTAGE_SECONDS,
        )
        return self._read("SubscribeToTask", rest, cancels=False)

    def _observe(self, name: str) -> None:
        sent = self._request.message
        task_id = sent.task_id or self._answer.task_id
        self._observed = self._connection.observed.call(name, sent.context_id, task_id)
        self._step = self._observed

    async def _read(
        self, name: str, responses: AsyncGenerator[StreamResponse], *, cancels: bool
    ) -> AsyncGenerator[NewEvent | AgentReply]:
        self._observe(name)
        answer = self._answer
        error: BaseException | None = None
        deadline = asyncio.get_running_loop().time() + self._options.timeout
        try:
            while (response := await self._next(responses, deadline)) is not None:
                for event in await computed_if_large(response.ByteSize(), answer.fold, response):
                    yield event
            news, reply = answer.finish()
            self._observed.note(reply)
            self._note_open(reply)
            if self._options.status_text is None and answer.has_status_text is not None:
                self._connection.status_text = answer.has_status_text or None
            if reply.state in _ENDS:
                reason = quote(join_text(reply.status_parts)) or "no reason given"
                raise RemoteTaskError(f"{_ENDS[reply.state]}: {reason}", reply)  # noqa: TRY301
            for event in news:
                yield event
        except BaseException as ended:
            error = ended
            if isinstance(ended, RemoteAgentError):
                ended.task_id = ended.task_id or answer.task_id
                ended.context_id = ended.context_id or answer.context_id
            if cancels and (
                isinstance(ended, RemoteTimeoutError) or not isinstance(ended, Exception)
            ):
                await self._cancel_task()
            raise
        finally:
            self._observed.end(error)
            self.context_id = answer.context_id
            await responses.aclose()
        yield await self._after(reply)

    def _note_open(self, reply: AgentReply) -> None:
        """Have the agent's question closed if the served task that received it is cancelled."""
        if (request := current_request()) is None or not reply.task_id:
            return
        if reply.is_question:
            leave_open(
                request.task_id,
                reply.task_id,
                partial(_give_up, self._cancel, self.forget, reply.task_id),
            )
        else:
            note_closed(request.task_id, reply.task_id)

    async def _next(
        self, responses: AsyncGenerator[StreamResponse], deadline: float
    ) -> StreamResponse | None:
        """Return the next response before the deadline, or None at the end."""
        sent_with = call_auth.set(self._credentials)
        try:
            with self._step:
                self._step = nullcontext()  # the rest of a stream needs no request
                return await within(deadline, anext(responses))
        except StopAsyncIteration:
            return None
        except TimeoutError as error:
            raise RemoteTimeoutError(
                f"no complete answer within {self._options.timeout:g} s",
                task_id=self._answer.task_id,
                context_id=self._answer.context_id,
            ) from error
        finally:
            call_auth.reset(sent_with)  # an async generator runs in its reader's context

    async def _responses(self) -> AsyncGenerator[StreamResponse]:
        answer = self._answer
        answer.is_stream = self._can_stream
        if self._continues_task:
            answer.ignore(await self._current_task(self._request.message.task_id))
        for attempt in count():
            has_begun = False
            try:
                responses = self._send()
                async for response in responses:
                    has_begun = True
                    yield response
                    if answer.is_settled:
                        await _read_to_end(responses)
                        return
                async for response in settling(answer, self._current_task):
                    yield response
                break
            except Exception as error:
                delay = self._delay_of_next(error, attempt, has_begun=has_begun)
                if delay is None:
                    break
            await asyncio.sleep(delay)
        if not answer.is_settled and not answer.task_id:
            raise RemoteAnswerError(
                "the agent's answer contains no A2A event"
                if answer.has_unknown_events
                else "the agent's answer is empty"
            )
        rest = resumed(self._connection, answer, self._context, self._options.retries)
        async for response in rest:
            yield response

    def _delay_of_next(self, error: Exception, attempt: int, *, has_begun: bool) -> float | None:
        """Return the delay before the message is sent again, or None to resume its task.

        Raises:
            RemoteAgentError: Neither is possible.
        """
        if self._can_stream and not has_begun and refuses_streams(error):
            self._can_stream = self._answer.is_stream = False
            self._falls_back = True
            return 0
        is_last = has_begun or attempt >= self._options.retries
        is_lost = self._may_resend and may_have_begun(error)
        if not is_last and (is_lost or isinstance(error, BusyError)):
            return back_off(attempt)
        failure = translate(error, self._card)
        if not self._answer.task_id or not has_broken_off(failure):
            reraise(error, failure)
        return None

    def _send(self) -> AsyncGenerator[StreamResponse]:
        if self._can_stream:
            return self._transport.send_message_streaming(self._request, context=self._context)
        return self._send_and_wait()

    async def _send_and_wait(self) -> AsyncGenerator[StreamResponse]:
        sent = await self._transport.send_message(self._request, context=self._context)
        if self._falls_back:
            self._connection.streams = False
        match sent.WhichOneof("payload"):
            case "task":
                yield StreamResponse(task=sent.task)
            case "message":
                yield StreamResponse(message=sent.message)
            case _:
                raise RemoteAnswerError("the agent's answer is neither a task nor a message")

    async def _current_task(self, task_id: str) -> Task | None:
        """Return the current task, or None if the agent does not provide it."""
        request = GetTaskRequest(id=task_id)
        try:
            return await retried(
                lambda: self._transport.get_task(request), retries=self._options.retries
            )
        except Exception as error:
            if isinstance(failure := translate(error, self._card), RemoteConnectionError):
                reraise(error, failure)
            return None  # some agents do not support GetTask

    async def _cancel_task(self) -> None:
        if self._answer.is_settled or not self._answer.task_id:
            return
        self.is_cancelled = True
        task = in_background(self._send_cancel(self._answer.task_id))
        await asyncio.wait({task}, timeout=_LEAVE_SECONDS)

    async def _send_cancel(self, task_id: str) -> None:
        call_auth.set(self._credentials)  # of this asyncio task
        with suppress(Exception):  # the reader has left
            async with asyncio.timeout(_CANCEL_SECONDS):
                self._observed.note(
                    await self._transport.cancel_task(CancelTaskRequest(id=task_id))
                )


async def _give_up(
    cancel: Callable[[str], Coroutine[Any, Any, object]],
    forget: Callable[[str], object] | None,
    task_id: str,
) -> None:
    if forget is not None:
        forget(task_id)
    with suppress(RemoteAgentError):  # the caller has left
        await cancel(task_id)


def _may_resend(connection: Connection, options: RemoteOptions) -> bool:
    """Return whether a message that arrives twice is answered once."""
    if options.resend is not None:
        return options.resend
    return DEDUPLICATION_EXTENSION in connection.extensions


async def _read_to_end(responses: AsyncIterator[StreamResponse]) -> None:
    """Wait briefly for the end of a stream, so that its connection can be reused."""
    with suppress(Exception):
        async with asyncio.timeout(_END_SECONDS):
            async for _ in responses:
                pass


def _call_context(connection: Connection, options: RemoteOptions) -> ClientCallContext | None:
    """Return a context that activates the wanted extensions that the agent supports."""
    wanted = [*options.extensions, *([PROGRESS_EXTENSION] if options.progress else [])]
    if options.resend is not False:
        wanted.append(DEDUPLICATION_EXTENSION)
    active = [uri for uri in dict.fromkeys(wanted) if uri in connection.extensions]
    if not active:
        return None
    return ClientCallContext(service_parameters={HTTP_EXTENSION_HEADER: ",".join(active)})
