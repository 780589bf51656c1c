"""Parsing of requests of Agno's clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a.types import SendMessageRequest
from a2a.utils.errors import JSONParseError

from a2a_adapters import dialects
from a2a_adapters.dialects import user_message
from a2a_adapters_agno.parts import decode

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.requests import Request


class NotJsonError(ValueError):
    """A body is not JSON."""


class WrongRequestError(ValueError):
    """A body is not a valid request; the text says why."""


@dataclass(frozen=True, slots=True)
class Call:
    """A JSON-RPC request."""

    id: str | int
    method: str
    params: dict[str, Any]

    @property
    def message(self) -> dict[str, Any]:
        """The message in the params.

        Raises:
            WrongRequestError: The message is missing.
        """
        message = self.params.get("message")
        if not isinstance(message, dict):
            raise WrongRequestError("params.message is required")
        return message

    @property
    def waits(self) -> bool:
        """Whether the caller waits for the answer."""
        configuration = self.params.get("configuration")
        return not isinstance(configuration, dict) or configuration.get("blocking") is not False


async def read_json(request: Request) -> object:
    """Return the parsed body of a request.

    Raises:
        NotJsonError: It is not JSON.
        ContentTypeNotSupportedError: Its content type is not JSON.
    """
    try:
        return await dialects.read_json(request)
    except JSONParseError as error:
        raise NotJsonError("Failed to parse JSON") from error


def call_id(body: object) -> str | int:
    """Return the id of a call, "" without one."""
    found = body.get("id") if isinstance(body, dict) else None
    return found if isinstance(found, str | int) else ""


def read_call(body: object, methods: Collection[str]) -> Call:
    """Parse a call of one of `methods`.

    Raises:
        WrongRequestError: The body is not such a call.
    """
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise WrongRequestError("expected a JSON-RPC 2.0 request")
    found = call_id(body)
    if found == "":
        raise WrongRequestError("request id is required")
    method = body.get("method")
    if not isinstance(method, str) or method not in methods:
        expected = " or ".join(f"'{each}'" for each in methods)
        raise WrongRequestError(f"invalid method: expected {expected}, got {method!r:.60}")
    params = body.get("params")
    if not isinstance(params, dict):
        raise WrongRequestError("params must be an object")
    return Call(found, method, params)


def to_request(call: Call, user_id: str, *, wrapped_data: bool = False) -> SendMessageRequest:
    """Convert a call's message to an A2A request.

    Args:
        call: The call.
        user_id: User id given by the caller, passed to the agent as metadata.
        wrapped_data: Whether data is wrapped.

    Raises:
        WrongRequestError: The message is invalid or not a user's.
    """
    sent = call.message
    if sent.get("role") != "user":
        raise WrongRequestError("Only user messages are accepted")
    metadata = sent.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise WrongRequestError("metadata must be an object")
    if user_id:
        metadata = {**metadata, "userId": user_id}
    if not sent.get("parts"):
        raise WrongRequestError("invalid message: at least one message part is required")
    try:
        parts = decode(sent.get("parts"), wrapped_data=wrapped_data)
        context_id, task_id = _text(sent, "contextId"), _text(sent, "taskId")
        message_id = _text(sent, "messageId")
        message = user_message(parts, context_id, task_id, metadata, message_id)
    except (ValueError, TypeError, RecursionError) as error:
        raise WrongRequestError(f"invalid message: {error}") from error
    request = SendMessageRequest(message=message)
    request.configuration.return_immediately = not call.waits
    return request


def _text(sent: dict[str, Any], key: str) -> str:
    value = sent.get(key) or ""
    if not isinstance(value, str):
        raise WrongRequestError(f"invalid message: {key} must be a string")
    return value
