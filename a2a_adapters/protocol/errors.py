"""A2A's errors in the shape of each binding (A2A 1.0, sections 5.4, 9.5 and 11.6).

a2a-sdk 1.3 looks errors up by their exact class, and puts lists into `ErrorInfo.metadata`,
which is a map of strings.
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
"""JSON-RPC's code for errors of a server's own; A2A's begin at -32001 (A2A 1.0, section 9.5)."""

DOMAIN = "a2a-adapters"
"""Whose the reasons are that A2A itself has no error for."""

RETRY_AFTER_SECONDS = 1
"""When to try again: runs end all the time."""


class ServerBusyError(A2AError):
    """The agent has as much to do as it may, or is being stopped. Nothing was begun.

    A2A has no error for that. Its specification counts it among the temporary system errors:
    HTTP 503, gRPC UNAVAILABLE, with guidance when to retry (A2A 1.0, section 3.3.2).
    """

    message = "The agent is busy; try again later"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, {"retryAfterSeconds": str(RETRY_AFTER_SECONDS)})


class ReaderBehindError(A2AError):
    """A stream ends before its task does, because its reader took too little of it.

    A2A has no error for that either; without one the reader would take a part for the whole.
    """

    message = "The stream was read too slowly and is not whole; subscribe to the task or get it"


CallId: TypeAlias = str | int | float | None
"""What a JSON-RPC call is known by. None is an id, too: a call without one has no answer."""


class StorageUnavailableError(ServerBusyError):
    """What the operation needs cannot be read or stored now. Nothing was begun."""

    message = "The agent's storage is not available; try again later"


class ConversationElsewhereError(ServerBusyError):
    """Another process works on a task of the conversation, and has to do this after it.

    Nothing was begun. Callers see it only if that process cannot be reached either.

    Args:
        process: That process; empty if it is not known here.
        task_id: The task that the message began there, if it was sent before.
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
}
# The code of an internal error would say that to try again is no use.
_RPC_CODES: dict[type[A2AError], int] = {
    **JSON_RPC_ERROR_CODE_MAP,
    ServerBusyError: SERVER_ERROR,
    ReaderBehindError: SERVER_ERROR,
}


def rpc_error(call_id: CallId, error: A2AError) -> dict[str, Any]:
    """Return the answer to a JSON-RPC call that failed."""
    body = {"code": rpc_code(error), "message": error.message, "data": details(error)}
    return {"jsonrpc": "2.0", "id": call_id, "error": body}


def rpc_code(error: A2AError) -> int:
    """Return the JSON-RPC code of an error."""
    return _lookup(_RPC_CODES, error, _INTERNAL)


def mapping(error: A2AError) -> ErrorMapping:
    """Return the HTTP code, the gRPC status and the reason of an error."""
    return _lookup(_MAPPING, error, _MAPPING[InternalError])


def http_error(error: A2AError) -> dict[str, Any]:
    """Return the body of an HTTP+JSON answer that failed, a `google.rpc.Status`."""
    kind = mapping(error)
    status = {"code": kind.http_code, "status": kind.grpc_status, "message": error.message}
    return {"error": {**status, "details": details(error)}}


def is_busy(error: A2AError) -> bool:
    """Tell whether it is of use to try again."""
    return isinstance(error, ServerBusyError)


def retry_headers(error: A2AError) -> dict[str, str]:
    """Return the HTTP headers that tell when to try again, if that is of use."""
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
    """Return what else is known of an error."""
    return {key: value for key, value in (error.data or {}).items() if isinstance(value, str)}


def field_violations(error: A2AError) -> list[tuple[str, str]]:
    """Return the fields that are wrong, by their names in protobuf, with the reasons."""
    errors = (error.data or {}).get("errors") or []
    shown = errors[:_SHOWN_VIOLATIONS]
    return [(entry["field"][:_SHOWN_CHARACTERS], entry["message"]) for entry in shown]


def json_violations(error: A2AError) -> list[tuple[str, str]]:
    """Return the fields that are wrong, by their names in JSON, with the reasons."""
    return [(_camel_case(name), text) for name, text in field_violations(error)]


def _camel_case(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def _lookup(table: Mapping[type[A2AError], T], error: A2AError, default: T) -> T:
    return next((table[kind] for kind in type(error).__mro__ if kind in table), default)
