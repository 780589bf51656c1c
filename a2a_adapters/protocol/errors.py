"""A2A errors and their formats in each binding (A2A 1.0, sections 5.4, 9.5 and 11.6).

a2a-sdk 1.3 cannot do this: it does not recognise subclasses of errors, and puts lists into
`ErrorInfo.metadata`, which is a map of strings.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from a2a.utils.error_handlers import A2A_DOMAIN, BAD_REQUEST_TYPE, ERROR_INFO_TYPE
from a2a.utils.errors import (
    A2A_ERROR_MAPPING,
    JSON_RPC_ERROR_CODE_MAP,
    A2AError,
    ErrorMapping,
    InternalError,
    InvalidRequestError,
    JSONParseError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

SERVER_ERROR = -32000
"""JSON-RPC code of server-defined errors; A2A's start at -32001 (A2A 1.0, section 9.5)."""

DOMAIN = "a2a-adapters"
"""Domain of error reasons that A2A does not define."""

RETRY_AFTER_SECONDS = 1
"""Delay that a busy server suggests before a retry."""


class ServerBusyError(A2AError):
    """The agent is overloaded or stopping, and has not started the operation.

    A2A has no such error, but counts it among temporary system errors: HTTP 503 or gRPC
    UNAVAILABLE, with a hint when to retry (A2A 1.0, section 3.3.2).
    """

    message = "The agent is busy; try again later"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, {"retryAfterSeconds": str(RETRY_AFTER_SECONDS)})


class ReaderBehindError(A2AError):
    """A stream was ended before its task because the client read too slowly.

    A2A has no such error either; without one the client would take the part for the whole.
    """

    message = "The stream was read too slowly and is not whole; subscribe to the task or get it"


class TaskGenerationMismatchError(A2AError):
    """A task has changed since its caller read it (A2A 1.1 as drafted, section 3.3.2)."""

    message = "The task has changed; get it before you send the message again"

    @classmethod
    def of(cls, task_id: str, expected: int, current: int) -> TaskGenerationMismatchError:
        """Return the error for a task's generations."""
        return cls(
            f"Task generation mismatch: expected {expected} but current generation is {current}",
            {
                "taskId": task_id,
                "expectedGeneration": str(expected),
                "currentGeneration": str(current),
            },
        )


CallId: TypeAlias = str | int | float | None
"""The id of a JSON-RPC call. None is a valid id; calls without an id get no answer."""


class StorageUnavailableError(ServerBusyError):
    """The storage is unavailable, and the operation has not been started."""

    message = "The agent's storage is not available; try again later"


class ConversationElsewhereError(ServerBusyError):
    """Another process owns the conversation and must perform the operation.

    Callers see this error only if that process cannot be reached.

    Args:
        process: The owner process; empty if it is unknown.
        task_id: The task of an earlier copy of the message, if there is one.
    """

    message = "Another process works on this conversation; try again later"

    def __init__(self, process: str = "", *, task_id: str = "") -> None:
        super().__init__()
        self.process = process
        self.task_id = task_id


_SHOWN_VIOLATIONS = 10
_SHOWN_CHARACTERS = 100

_INTERNAL = JSON_RPC_ERROR_CODE_MAP[InternalError]
_MAPPING: dict[type[A2AError], ErrorMapping] = {
    **A2A_ERROR_MAPPING,
    JSONParseError: A2A_ERROR_MAPPING[InvalidRequestError],
    ServerBusyError: ErrorMapping(503, "UNAVAILABLE", "SERVER_BUSY"),
    ReaderBehindError: ErrorMapping(429, "RESOURCE_EXHAUSTED", "READER_BEHIND"),
    TaskGenerationMismatchError: ErrorMapping(409, "ABORTED", "TASK_GENERATION_MISMATCH"),
}
# The default, the code of an internal error, would mean that a retry is useless.
_RPC_CODES: dict[type[A2AError], int] = {
    **JSON_RPC_ERROR_CODE_MAP,
    ServerBusyError: SERVER_ERROR,
    ReaderBehindError: SERVER_ERROR,
    TaskGenerationMismatchError: -32010,
}


def rpc_error(call_id: CallId, error: A2AError) -> dict[str, Any]:
    """Return the response to a failed JSON-RPC call."""
    body = {"code": rpc_code(error), "message": error.message, "data": details(error)}
    return {"jsonrpc": "2.0", "id": call_id, "error": body}


def rpc_code(error: A2AError) -> int:
    """Return the JSON-RPC code of an error."""
    return _lookup(_RPC_CODES, error, _INTERNAL)


def mapping(error: A2AError) -> ErrorMapping:
    """Return the HTTP code, the gRPC status and the reason of an error."""
    return _lookup(_MAPPING, error, _MAPPING[InternalError])


def http_error(error: A2AError) -> dict[str, Any]:
    """Return the body of a failed HTTP+JSON call, a `google.rpc.Status`."""
    kind = mapping(error)
    status = {"code": kind.http_code, "status": kind.grpc_status, "message": error.message}
    return {"error": {**status, "details": details(error)}}


def is_busy(error: A2AError) -> bool:
    """Return whether a retry may succeed."""
    return isinstance(error, ServerBusyError)


def retry_headers(error: A2AError) -> dict[str, str]:
    """Return the HTTP headers that suggest a retry, if it may succeed."""
    return {"Retry-After": str(RETRY_AFTER_SECONDS)} if is_busy(error) else {}


def details(error: A2AError) -> list[dict[str, Any]]:
    """Return the details of an error as ProtoJSON of `google.protobuf.Any`."""
    about: dict[str, Any] = {"reason": mapping(error).reason, "domain": A2A_DOMAIN}
    if metadata := error_metadata(error):
        about["metadata"] = metadata
    found: list[dict[str, Any]] = [{"@type": ERROR_INFO_TYPE, **about}]
    if violations := json_violations(error):
        fields = [{"field": name, "description": text} for name, text in violations]
        found.append({"@type": BAD_REQUEST_TYPE, "fieldViolations": fields})
    return found


def error_metadata(error: A2AError) -> dict[str, str]:
    """Return the metadata of an error."""
    return {key: value for key, value in (error.data or {}).items() if isinstance(value, str)}


def field_violations(error: A2AError) -> list[tuple[str, str]]:
    """Return the invalid fields, by protobuf name, with the reasons."""
    errors = (error.data or {}).get("errors") or []
    shown = errors[:_SHOWN_VIOLATIONS]
    return [(entry["field"][:_SHOWN_CHARACTERS], entry["message"]) for entry in shown]


def json_violations(error: A2AError) -> list[tuple[str, str]]:
    """Return the invalid fields, by JSON name, with the reasons."""
    return [(_camel_case(name), text) for name, text in field_violations(error)]


def _camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def _lookup(table: Mapping[type[A2AError], T], error: A2AError, default: T) -> T:
    return next((table[kind] for kind in type(error).__mro__ if kind in table), default)
