"""Sends messages to agents, to new tasks or to tasks that wait for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import GetTaskRequest, SendMessageRequest, TaskState
from a2a.utils.errors import TaskNotFoundError
from google.protobuf.message import Error as ProtobufError
from pydantic_core import to_json

from a2a_adapters import PROGRESS_EXTENSION, Part, Text
from a2a_adapters.dialects import user_message
from a2a_adapters_openai.content import SYSTEM, Said
from a2a_adapters_openai.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import Task
    from starlette.requests import Request

    from a2a_adapters import JSON
    from a2a_adapters.dialects import DialectAgent, DialectServer
    from a2a_adapters_openai.parameters import Parameters, ResponseFormat

_WAITING = {TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED}


def caller(server: DialectServer, request: Request) -> ServerCallContext:
    """Return the caller of a request, who gets news of the work."""
    context = server.caller(request)
    context.requested_extensions = {*context.requested_extensions, PROGRESS_EXTENSION}
    return context


async def find_task(agent: DialectAgent, task_id: str, context: ServerCallContext) -> Task | None:
    """Return a task of the caller as it is now, None if there is no such task."""
    try:
        return await agent.handler.on_get_task(GetTaskRequest(id=task_id), context)
    except TaskNotFoundError:
        return None


def is_waiting(task: Task) -> bool:
    """Return whether a task waits for an answer."""
    return task.status.state in _WAITING


def make_request(
    parts: Sequence[Part],
    parameters: Parameters,
    response_format: ResponseFormat | None,
    context_id: str = "",
    task_id: str = "",
) -> SendMessageRequest:
    """Return the request that sends a message.

    Raises:
        ApiError: The message is empty, or cannot be sent.
    """
    if not any(not isinstance(part, Text) or part.text.strip() for part in parts):
        raise ApiError(400, "the last message is empty")
    metadata: dict[str, JSON] = dict(parameters.metadata or {})
    if parameters.user:
        metadata["user"] = parameters.user
    try:
        message = user_message(parts, context_id, task_id, metadata)
    except (ValueError, TypeError, RecursionError, ProtobufError) as error:
        raise ApiError(400, f"the message cannot be sent: {error}") from error
    sent = SendMessageRequest(message=message)
    if response_format is not None and response_format.is_json:
        sent.configuration.accepted_output_modes.extend(["application/json", "text/plain"])
    return sent


def schema_message(response_format: ResponseFormat | None) -> list[Said]:
    """Return the system message that tells an agent which JSON is expected, if any is."""
    schema = response_format.schema_of_answer if response_format is not None else None
    if response_format is None or not response_format.is_json or schema is None:
        return []
    text = f"Answer only with JSON of this schema: {to_json(schema).decode()}"
    return [Said(SYSTEM, [Text(text)])]
