"""Parsing of requests of OmniRoute's clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a.types import SendMessageRequest
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.struct_pb2 import Struct

from a2a_adapters import Text
from a2a_adapters.dialects import quote, user_message
from a2a_adapters_omniroute.serving.refusals import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    RefusedError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_SKILL = "smart-routing"


@dataclass(frozen=True, slots=True)
class Call:
    """A JSON-RPC request."""

    id: str | int | float | None
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of a call."""

    role: str
    content: str


def call_id(body: object) -> str | int | float | None:
    """Return the id of a call, even of an invalid one."""
    found = body.get("id") if isinstance(body, dict) else None
    return found if isinstance(found, str | int | float) else None


def read_call(body: object) -> Call:
    """Parse a call.

    Raises:
        RefusedError: The body is not a call.
    """
    if (
        not isinstance(body, dict)
        or body.get("jsonrpc") != "2.0"
        or not isinstance(method := body.get("method"), str)
    ):
        raise RefusedError(INVALID_REQUEST, "Invalid request: missing jsonrpc or method")
    params = body.get("params") or {}
    if not isinstance(params, dict):
        raise RefusedError(INVALID_PARAMS, "Invalid params: expected an object")
    return Call(call_id(body), method, params)


def read_skill(params: dict[str, Any]) -> str:
    """Return the requested skill."""
    skill = params.get("skill") or DEFAULT_SKILL
    if not isinstance(skill, str):
        raise RefusedError(INVALID_PARAMS, "Invalid params: skill must be a string")
    return skill


def read_task_id(params: dict[str, Any]) -> str:
    """Return the task id; like the actual server, this accepts `id` as well.

    Raises:
        RefusedError: The id is missing.
    """
    task_id = params.get("taskId") or params.get("id")
    if not isinstance(task_id, str):
        raise RefusedError(INVALID_PARAMS, "Invalid params: taskId required")
    return task_id


def read_messages(params: dict[str, Any]) -> list[ChatMessage]:
    """Return the messages of a call in any format of the actual server.

    Raises:
        RefusedError: There are no messages.
    """
    listed = params.get("messages")
    messages = _messages(listed) if isinstance(listed, list) else []
    if not messages and isinstance(message := params.get("message"), dict):
        messages = _messages(
            [{**message, "content": message.get("content") or _parts_text(message)}]
        )
    if not messages:
        raise RefusedError(
            INVALID_PARAMS, "Invalid params: provide `messages[]` or `message.content`"
        )
    return messages


def _messages(messages: list[Any]) -> list[ChatMessage]:
    return [
        ChatMessage(role if isinstance(role, str) else "user", content)
        for message in messages
        if isinstance(message, dict)
        and isinstance(content := message.get("content"), str)
        and content
        and (role := message.get("role", "user"))
    ]


def _parts_text(message: dict[str, Any]) -> str:
    parts = message.get("parts")
    texts = [p.get("text") for p in parts if isinstance(p, dict)] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def to_request(messages: Sequence[ChatMessage], metadata: object, skill: str) -> SendMessageRequest:
    """Combine messages into one A2A message, which has no roles for parts.

    A single user message is unchanged; in a dialogue, each text starts with its role.
    A skill is added to the metadata.

    Raises:
        RefusedError: The metadata is not an object or cannot be represented.
    """
    if len(messages) == 1 and messages[0].role == "user":
        texts = [messages[0].content]
    else:
        texts = [f"{each.role.capitalize()}: {each.content}" for each in messages]
    message = user_message(map(Text, texts))
    if metadata is not None:
        message.metadata.CopyFrom(_struct(metadata))
    if skill:
        message.metadata["skill"] = skill
    return SendMessageRequest(message=message)


def _struct(metadata: object) -> Struct:
    if not isinstance(metadata, dict):
        raise RefusedError(INVALID_PARAMS, "Invalid params: metadata must be an object")
    try:
        return ParseDict(metadata, Struct())
    except (ParseError, ValueError, RecursionError) as error:
        text = f"Invalid params: metadata: {quote(str(error))}"
        raise RefusedError(INVALID_PARAMS, text) from error
