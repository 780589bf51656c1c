"""Builds protocol messages and sends them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from a2a.types import (
    CancelTaskRequest,
    ListTasksRequest,
    SendMessageConfiguration,
    SendMessageRequest,
)
from google.protobuf.message import Error as ProtocolBufferError

from a2a_adapters.calling.auth import CallAuth, call_auth, check_headers
from a2a_adapters.calling.errors import RemoteAgentError, RemoteConnectionError, RemoteTimeoutError
from a2a_adapters.calling.exchange import Exchange
from a2a_adapters.calling.failures import reraise, retried, translate
from a2a_adapters.calling.options import RemoteCall, checked_timeout
from a2a_adapters.contract.checking import check_type
from a2a_adapters.contract.errors import InvalidInputError
from a2a_adapters.contract.parts import JSON, Data, File, Part, Text
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.protocol import states
from a2a_adapters.protocol.messages import user_message

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from typing import Unpack

    import httpx
    from a2a.client.transports.base import ClientTransport
    from a2a.types import Task, TaskPushNotificationConfig, TaskStatus

    from a2a_adapters.calling.connection import Connection, Connections
    from a2a_adapters.calling.options import PushReceiver, RemoteOptions, SendOptions
    from a2a_adapters.calling.reply import AgentReply, RemoteEvent

MessageInput: TypeAlias = "str | Part | Sequence[Part]"
"""The content of a message: a text, a part, or several parts."""

T = TypeVar("T")

_LISTED = 50
"""Number of most recent tasks of a conversation that are searched for a waiting one."""


class Messenger:
    """Starts exchanges with one agent, with the credentials of `auth` in place of the agent's."""

    def __init__(self, connections: Connections, auth: httpx.Auth | None = None) -> None:
        self._connections = connections
        self.options = connections.options
        self._auth = auth

    async def begin(  # noqa: PLR0913 - the options of a message
        self,
        message: MessageInput,
        *,
        context_id: str,
        task_id: str,
        metadata: Mapping[str, JSON] | None = None,
        skill: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - applies to the later answer, too
        headers: Mapping[str, str] | None = None,
        push: TaskPushNotificationConfig | None = None,
        message_id: str = "",
    ) -> Exchange:
        """Return an exchange, which sends the message when its events are read.

        Raises:
            ConfigurationError: The timeout is not positive.
            InvalidInputError: The message cannot be encoded.
            RemoteAgentError: The agent's card cannot be fetched.
        """
        check_headers(headers)
        check_type("metadata", metadata, Mapping, "a mapping")
        if skill is not None:
            metadata = {**(metadata or {}), "skill_id": skill}
        call = RemoteCall(
            agent=self._connections.name,
            parts=_parts(message),
            context_id=context_id,
            task_id=task_id,
            metadata=metadata or {},
            headers=headers or {},
        )
        if self.options.interceptors:
            call = await self._before(call)
        parts = call.parts
        if any(isinstance(part, File) for part in parts):
            parts = await self._uploaded(parts, timeout, CallAuth(call.headers, self._auth))
        try:
            sent = user_message(parts, context_id, task_id, call.metadata, message_id)
        except (ValueError, RecursionError, ProtocolBufferError) as error:
            raise InvalidInputError(
                "the message cannot be sent: text must be Unicode without unpaired surrogates, and "
                "data must be JSON that is not nested too deeply"
            ) from error
        connection, options = await self._connected(timeout)
        configuration = SendMessageConfiguration(accepted_output_modes=connection.output_modes)
        if push and connection.card.capabilities.push_notifications:
            configuration.task_push_notification_config.CopyFrom(push)
        request = SendMessageRequest(message=sent, configuration=configuration)
        return self._exchange(connection, request, options, call)

    def _exchange(
        self,
        connection: Connection,
        request: SendMessageRequest,
        options: RemoteOptions,
        call: RemoteCall,
    ) -> Exchange:
        return Exchange(
            connection,
            request,
            options,
            CallAuth(call.headers, self._auth),
            cancel=partial(self.cancel, headers=call.headers),
            after=partial(self._after, call),
        )

    async def cancel(self, task_id: str, headers: Mapping[str, str] | None) -> Task:
        """Cancel a task, and return it.

        Raises:
            RemoteAgentError: The task cannot be cancelled, or the agent does not answer.
        """
        request = CancelTaskRequest(id=task_id)
        return await self.call(
            "CancelTask",
            lambda transport: transport.cancel_task(request),
            headers,
            is_idempotent=False,
        )

    async def start(
        self,
        message: MessageInput,
        *,
        context_id: str,
        notify: PushReceiver | None,
        **options: Unpack[SendOptions],
    ) -> AgentReply:
        """Send a message and return the answer so far, as soon as its task exists.

        Raises:
            InvalidInputError: The message cannot be encoded.
            RemoteAgentError: The call failed.
        """
        push = notify.push_config() if notify else None
        exchange = await self.begin(
            message, context_id=context_id, task_id="", push=push, **options
        )
        seen = await exchange.start()
        if notify and push:
            await notify.bind(push, (await self._connections.get()).address, seen.task_id)
        return seen

    async def _uploaded(
        self, parts: Sequence[Part], seconds: float | None, credentials: CallAuth
    ) -> Sequence[Part]:
        """Upload the files that the agent takes by reference."""
        connection, options = await self._connected(seconds)
        sent_with = call_auth.set(credentials)
        try:
            uploading = installed_plugins().upload(parts, connection.card, connection.http)
            async with asyncio.timeout(options.timeout):
                return await uploading if uploading else parts
        except TimeoutError as error:
            raise RemoteTimeoutError("the files of the message were not sent in time") from error
        finally:
            call_auth.reset(sent_with)

    async def follow(
        self,
        task_id: str,
        timeout: float,  # noqa: ASYNC109 - applies to the later answer, too
        *,
        old_status: TaskStatus | None,
        headers: Mapping[str, str] | None,
        notify: PushReceiver | None,
    ) -> AsyncGenerator[RemoteEvent]:
        """Yield the events of a task from its beginning; see `Exchange.follow`.

        If the agent sends push notifications, their receiver determines when to ask for the task.
        """
        connection, options = await self._connected(timeout)
        pushes = connection.card.capabilities.push_notifications
        news = notify.watch(connection.address, task_id) if notify and pushes else None
        call = RemoteCall(agent=self._connections.name, task_id=task_id, headers=headers or {})
        exchange = self._exchange(connection, SendMessageRequest(), options, call)
        async with aclosing(exchange.follow(task_id, old_status, news)) as events:
            async for event in events:
                yield event

    async def intercepted(self, reply: AgentReply) -> AgentReply:
        """Return the state of a task, as interceptors have changed it."""
        call = RemoteCall(
            agent=self._connections.name, context_id=reply.context_id, task_id=reply.task_id
        )
        return await self._after(call, reply)

    async def _before(self, call: RemoteCall) -> RemoteCall:
        """Return the call after the interceptors have changed it, in their order."""
        for each in self.options.interceptors:
            call = await each.before(call)
        check_headers(call.headers)
        return call

    async def _after(self, call: RemoteCall, reply: AgentReply) -> AgentReply:
        """Return the reply after the interceptors have changed it, the last one first."""
        received = reply
        for each in reversed(self.options.interceptors):
            reply = await each.after(call, reply)
        if reply.text != received.text:
            return replace(reply, is_corrected=True)
        return reply

    async def _connected(self, timeout: float | None) -> tuple[Connection, RemoteOptions]:  # noqa: ASYNC109
        """Return the connection and the options with a timeout in place of the usual one."""
        if timeout is None:
            return await self._connections.get(), self.options
        options = replace(self.options, timeout=checked_timeout(timeout))
        try:
            async with asyncio.timeout(timeout):
                return await self._connections.get(), options
        except TimeoutError as error:
            raise RemoteTimeoutError(f"no agent card within {timeout:g} s") from error

    async def call(
        self,
        name: str,
        operation: Callable[[ClientTransport], Awaitable[T]],
        headers: Mapping[str, str] | None = None,
        *,
        is_idempotent: bool = True,
    ) -> T:
        """Perform an operation, which has this name in A2A 1.0, and return its result.

        Raises:
            RemoteAgentError: The call failed.
        """
        connection = await self._connections.get()
        retries = self.options.retries if is_idempotent else 0
        sent_with = call_auth.set(CallAuth(headers, self._auth))
        with connection.observed.call(name).whole() as observed:
            try:
                result = await retried(lambda: operation(connection.transport), retries)
            except Exception as error:
                reraise(error, translate(error, connection.card))
            finally:
                call_auth.reset(sent_with)
            observed.note(result)
            return result

    async def open_question(self, context_id: str, **options: Unpack[SendOptions]) -> str:
        """Return the id of the conversation's most recent waiting task, or "".

        Raises:
            RemoteConnectionError: The agent cannot be reached.
            RemoteTimeoutError: The agent does not answer in time.
            RemoteAgentError: The agent's card cannot be fetched.
        """
        request = ListTasksRequest(
            context_id=context_id, page_size=_LISTED, history_length=0, include_artifacts=False
        )
        timeout = options.get("timeout")
        seconds = self.options.timeout if timeout is None else checked_timeout(timeout)
        try:
            async with asyncio.timeout(seconds):
                page = await self.call(
                    "ListTasks",
                    lambda transport: transport.list_tasks(request),
                    options.get("headers"),
                )
        except RemoteConnectionError:
            raise
        except RemoteAgentError:
            return ""  # many agents do not support ListTasks
        except TimeoutError as error:
            raise RemoteTimeoutError(
                f"no list of tasks within {seconds:g} s", context_id=context_id
            ) from error
        waiting = [
            task
            for task in page.tasks
            if task.context_id == context_id and task.status.state in states.INTERRUPTED
        ]
        last = max(waiting, key=lambda task: task.status.timestamp.ToNanoseconds(), default=None)
        return last.id if last else ""


def _parts(message: object) -> Sequence[Part]:
    if isinstance(message, str):
        return [Text(message)]
    if isinstance(message, Text | File | Data):
        return [message]
    if not isinstance(message, Sequence) or not all(
        isinstance(part, Text | File | Data) for part in message
    ):
        raise InvalidInputError(
            "a message is text, a Text, File or Data, or a list of these; send JSON as "
            f"Data(...), not {type(message).__name__}"
        )
    return message
