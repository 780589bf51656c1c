"""The errors of the dialect.

The codes are those of OmniRoute's documentation; HTTP statuses follow the actual server where
it uses the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NOT_FOUND = -32601
INVALID_PARAMS = -32602
FAILED = -32603
TASK_NOT_FOUND = -32001
TASK_FINISHED = -32002
OVER_BUDGET = -32004
"""Agents can reject a task with it by `TaskMetadata({"error_code": OVER_BUDGET})`."""
NO_PROVIDER = -32005
"""Likewise."""

_UNAUTHORIZED = frozenset({401, 403})
_UNAVAILABLE = 503
_STATUS = {
    INVALID_REQUEST: 400,
    NOT_FOUND: 404,
    FAILED: 500,
    TASK_NOT_FOUND: 404,
    TASK_FINISHED: 409,
    OVER_BUDGET: 402,
    NO_PROVIDER: 503,
}


def refusal(status: int, message: str) -> tuple[int, dict[str, Any]]:
    """Return the answer to a call refused with an HTTP status of A2A.

    Like the actual server, treats missing or invalid keys as invalid requests.
    """
    if status in _UNAUTHORIZED:
        error = RefusedError(INVALID_REQUEST, f"Unauthorized: {message}")
        return error.status, error.body(None)
    code = NO_PROVIDER if status == _UNAVAILABLE else INVALID_REQUEST
    return status, RefusedError(code, message).body(None)


class RefusedError(Exception):
    """A call is refused with an error.

    Args:
        code: The JSON-RPC code.
        message: Error message for the caller.
        data: Machine-readable details.
    """

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def status(self) -> int:
        """The HTTP status."""
        return _STATUS.get(self.code, 200)

    def body(self, call_id: object) -> dict[str, Any]:
        """Return the JSON-RPC response."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", "id": call_id, "error": error}
