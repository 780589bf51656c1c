"""A2A's errors in the shape of each binding (A2A 1.0, sections 5.4, 9.5 and 11.6).

a2a-sdk 1.3 looks errors up by their exact class, and puts lists into `ErrorInfo.metadata`,
which is a map of strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

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

from a2a_adapters.runtime.busy import RETRY_AFTER_SECONDS, ServerBusyError
from a2a_adapters.security.refusals import SERVER_ERROR

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

_SHOWN_VIOLATIONS = 10
_SHOWN_CHARACTERS = 100

_INTERNAL = JSON_RPC_ERROR_CODE_MAP[InternalError]
_MAPPING: dict[type[A2AError], ErrorMapping] = {
    **A2A_ERROR_MAPPING,
    JSONParseError: A2A_ERROR_MAPPING[InvalidRequestError],
    ServerBusyError: ErrorMapping(503, "UNAVAILABLE", "SERVER_BUSY"),
}
# The code of an internal error would say that to try again is no use.
_RPC_CODES: dict[type[A2AError], int] = {**JSON_RPC_ERROR_CODE_MAP, ServerBusyError: SERVER_ERROR}


def rpc_error(call_id: str | int | None, error: A2AError) -> dict[str, Any]:
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


def retry_headers(error: A2AError) -> dict[str, str]:
    """Return the HTTP headers that tell when to try again, if that is of use."""
    is_busy = isinstance(error, ServerBusyError)
    return {"Retry-After": str(RETRY_AFTER_SECONDS)} if is_busy else {}


def details(error: A2AError) -> list[dict[str, Any]]:
    """Return the details of an error as ProtoJSON of `google.protobuf.Any`."""
    about: dict[str, Any] = {"reason": mapping(error).reason, "domain": A2A_DOMAIN}
    if metadata := error_metadata(error):
        about["metadata"] = metadata
    found: list[dict[str, Any]] = [{"@type": ERROR_INFO_TYPE, **about}]
    if violations := field_violations(error):
        fields = [{"field": name, "description": text} for name, text in violations]
        found.append({"@type": BAD_REQUEST_TYPE, "fieldViolations": fields})
    return found


def error_metadata(error: A2AError) -> dict[str, str]:
    """Return what else is known of an error."""
    return {key: value for key, value in (error.data or {}).items() if isinstance(value, str)}


def field_violations(error: A2AError) -> list[tuple[str, str]]:
    """Return the fields that are wrong, with the reasons."""
    errors = (error.data or {}).get("errors") or []
    shown = errors[:_SHOWN_VIOLATIONS]
    return [(entry["field"][:_SHOWN_CHARACTERS], entry["message"]) for entry in shown]


def _lookup(table: Mapping[type[A2AError], T], error: A2AError, default: T) -> T:
    return next((table[kind] for kind in type(error).__mro__ if kind in table), default)
