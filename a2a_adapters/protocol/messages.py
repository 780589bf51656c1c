"""Creates messages, ids, statuses and events."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from a2a.types import (
    Artifact,
    Message,
    Role,
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)

from a2a_adapters.contract.parts import JSON, Part, Text
from a2a_adapters.protocol.conversion import agent_parts, to_protocol, to_struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from google.protobuf.struct_pb2 import Struct

ANSWER = "answer"
"""Name of the artifact that holds the answer's text."""


def new_id() -> str:
    """Create a random id for a message or an artifact, faster than `uuid.uuid4`."""
    return os.urandom(16).hex()


def new_uuid() -> str:
    """Create a UUID (version 7, RFC 9562) for a task or a context.

    It starts with the time, so that rows inserted together are adjacent in a database's indexes.
    Its 74 random bits cannot be guessed.
    """
    made = f"{time.time_ns() // 1_000_000:012x}"
    digits = os.urandom(10).hex()
    variant = "89ab"[int(digits[3], 16) & 3]
    return f"{made[:8]}-{made[8:]}-7{digits[:3]}-{variant}{digits[4:7]}-{digits[7:19]}"


def agent_message(parts: Sequence[Part], context_id: str = "", task_id: str = "") -> Message:
    """Create a message of the agent."""
    return Message(
        message_id=new_id(),
        role=Role.ROLE_AGENT,
        parts=agent_parts(parts)[1],
        context_id=context_id,
        task_id=task_id,
    )


def status(state: TaskState, message: Message | None = None) -> TaskStatus:
    """Create a status with the current time."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    timestamp = {"seconds": seconds, "nanos": nanoseconds // 1000 * 1000}
    return TaskStatus(state=state, message=message, timestamp=timestamp)


def status_event(
    task_id: str, context_id: str, state: TaskState, text: str = ""
) -> TaskStatusUpdateEvent:
    """Create a change of state with the current time and an optional text."""
    message = agent_message([Text(text)], context_id, task_id) if text else None
    return TaskStatusUpdateEvent(
        task_id=task_id, context_id=context_id, status=status(state, message)
    )


def user_message(
    parts: Iterable[Part],
    context_id: str = "",
    task_id: str = "",
    metadata: Mapping[str, JSON] | None = None,
    message_id: str = "",
) -> Message:
    """Create a message to an agent.

    Raises:
        ValueError, RecursionError, google.protobuf.message.Error: It cannot be encoded.
    """
    return Message(
        message_id=message_id or new_uuid(),
        role=Role.ROLE_USER,
        parts=to_protocol(parts),
        context_id=context_id,
        task_id=task_id,
        metadata=to_struct(metadata) if metadata else None,
    )


def artifact_response(
    task_id: str, context_id: str, artifact: Artifact, *, append: bool = False
) -> StreamResponse:
    """Create a stream's event for an artifact, or for a chunk of one."""
    return StreamResponse(
        artifact_update=TaskArtifactUpdateEvent(
            task_id=task_id, context_id=context_id, artifact=artifact, append=append
        )
    )


def status_response(
    task_id: str, context_id: str, status: TaskStatus, metadata: Struct | None = None
) -> StreamResponse:
    """Create a stream's event for a status."""
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(
            task_id=task_id, context_id=context_id, status=status, metadata=metadata
        )
    )
