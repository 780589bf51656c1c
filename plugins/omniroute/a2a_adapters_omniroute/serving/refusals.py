"""The errors of the dialect.

The codes are those of OmniRoute's description; the HTTP status of each is the real server's, where
that sends the code at all.
"""

from __future__ import annotations

from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NOT_FOUND = -32601
INVALID_PARAMS = -32602
FAILED = -32603
TASK_NOT_FOUND = -32001
TASK_FINISHED = -32002
NO_PROVIDER = -32005

_STATUS = {
    INVALID_REQUEST: 400,
    NOT_FOUND: 404,
    FAILED: 500,
    TASK_NOT_FOUND: 404,
    TASK_FINISHED: 409,
    NO_PROVIDER: 503,
}


class RefusedError(Exception):
    """A call that is answered by an error.

    Args:
        code: The JSON-RPC code.
        message: What the caller is told.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def status(self) -> int:
        """The HTTP status."""
        return _STATUS.get(self.code, 200)

    def body(self, call_id: object) -> dict[str, Any]:
        """Return the answer."""
        error = {"code": self.code, "message": self.message}
        return {"jsonrpc": "2.0", "id": call_id, "error": error}
