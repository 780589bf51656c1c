"""Builds protocol messages and sends them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from a2a.types import ListTasksRequest, SendMessageConfiguration, SendMessageRequest
from google.protobuf.message import Error as ProtocolBufferError

from a2a_adapters.calling.auth import call_headers
from a2a_adapters.calling.errors import RemoteConnectionError, RemoteTimeoutError
from a2a_adapters.calling.exchange import Exchange
from a2a_adapters.calling.failures import reraise, retried, translate
from a2a_adapters.calling.options import checked_timeout
from a2a_adapters.contract.errors import InvalidInputError
from a2a_adapters.contract.parts import JSON, Data, File, Part, Text
from a2a_adapters.protocol import states
from a2a_adapters.protocol.messages import user_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Unpack

    from a2a_adapters.calling.connection import Connections
    from a2a_adapters.calling.options import RemoteOptions, SendOptions

MessageInput: TypeAlias = "str | Part | Sequence[Part]"
"""The content of a message: a text, a part, or several parts."""

_LISTED = 50
"""Number of most recent tasks of a conversation that are searched for a waiting one."""


class Messenger:
    """Starts exchanges with one agent."""

    def __init__(self, connections: Connections, options: RemoteOptions) -> None:
        self._connections = connections
        self._options = options

    async def begin(
        self,
        message: MessageInput,
        *,
        context_id: str,
        task_id: str,
        metadata: Mapping[str, JSON] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - applies to the later answer, too
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """Return an exchange, which sends the message when its events are read.

        Raises:
            ConfigurationError: The timeout is not positive.
            InvalidInputError: The message cannot be encoded.
            RemoteAgentError: The agent's card cannot be fetched.
        """
        try:
            sent = user_message(_parts(message), context_id, task_id, metadata)
        except (ValueError, RecursionError, ProtocolBufferError) as error:
            raise InvalidInputError(
                "the message cannot be sent: text must be Unicode without unpaired surrogates, and "
                "data must be JSON that is not nested too deeply"
            ) from error
        modes = self._options.accepted_output_modes
        configuration = SendMessageConfiguration(accepted_output_modes=modes)
        request = SendMessageRequest(message=sent, configuration=configuration)
        options = self._options
        if timeout is None:
            return Exchange(await self._connections.get(), request, options, headers)
        options = replace(options, timeout=checked_timeout(timeout))
        try:
            async with asyncio.timeout(timeout):
                connection = await self._connections.get()
        except TimeoutError as error:
            raise RemoteTimeoutError(f"no agent card within {timeout:g} s") from error
        return Exchange(connection, request, options, headers)

    async def open_question(self, context_id: str, **options: Unpack[SendOptions]) -> str:
        """Return the id of the conversation's most recent waiting task, or "".

        Raises:
            RemoteConnectionError: The agent cannot be reached.
            RemoteTimeoutError: The agent does not answer in time.
            RemoteAgentError: The agent's card cannot be fetched.
        """
        connection = await self._connections.get()
        request = ListTasksRequest(
            context_id=context_id, page_size=_LISTED, history_length=0, include_artifacts=False
        )
        timeout = options.get("timeout")
        seconds = self._options.timeout if timeout is None else checked_timeout(timeout)
        sent_with = call_headers.set(options.get("headers"))
        try:
            async with asyncio.timeout(seconds):
                page = await retried(
                    lambda: connection.transport.list_tasks(request), self._options.retries
                )
        except TimeoutError as error:
            raise RemoteTimeoutError(
                f"no list of tasks within {seconds:g} s", context_id=context_id
            ) from error
        except Exception as error:
            if isinstance(failure := translate(error, connection.card), RemoteConnectionError):
                reraise(error, failure)
            return ""  # many agents do not support ListTasks
        finally:
            call_headers.reset(sent_with)
        waiting = [
            task
            for task in page.tasks
            if task.context_id == context_id and task.status.state in states.INTERRUPTED
        ]
        last = max(waiting, key=lambda task: task.status.timestamp.ToNanoseconds(), default=None)
        return last.id if last else ""


def _parts(message: MessageInput) -> Sequence[Part]:
    if isinstance(message, str):
        return [Text(message)]
    if isinstance(message, Text | File | Data):
        return [message]
    return message
