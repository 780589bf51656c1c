"""Errors in the form of OpenAI's API, which its clients show to their users.

Clients retry a POST answered with 408, 409, 429 or 5xx. These codes are therefore used only before
a run has begun; a failed run is answered with 400 or 422.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    JSONParseError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from starlette.responses import JSONResponse

from a2a_adapters.dialects import is_busy
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from a2a_adapters import AgentReply

INVALID = "invalid_request_error"
AGENT_ERROR = "agent_error"
"""The type of errors caused by the agent rather than the request."""

_NO_RETRY = {"x-should-retry": "false"}
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_BAD_REQUESTS = (
    InvalidParamsError,
    ContentTypeNotSupportedError,
    UnsupportedOperationError,
    TaskNotCancelableError,
)


class ApiError(Exception):
    """The request was refused, or the agent failed.

    Args:
        status: The HTTP status.
        message: The reason, shown to users.
        kind: The error's `type`.
        param: The invalid parameter.
        code: A machine-readable code.
        headers: Additional headers of the response.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = INVALID,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param
        self.code = code
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        """Return the error in the format of OpenAI's API."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return {"error": error}

    def response(self) -> Response:
        """Return the error as an HTTP response."""
        return JSONResponse(self.body(), self.status, self.headers)


def refusal(status: int, message: str) -> tuple[int, dict[str, Any]]:
    """Return the response to a request refused before it reached this dialect."""
    kind = _KINDS.get(status, INVALID if status < 500 else "server_error")
    code = "invalid_api_key" if status == 401 else None
    return status, ApiError(status, message, kind=kind, code=code).body()


def api_error(error: A2AError) -> ApiError:
    """Return the refusal of an operation."""
    if is_busy(error):
        return ApiError(
            429,
            error.message,
            kind="rate_limit_error",
            code="rate_limit_exceeded",
            headers={"Retry-After": "1"},
        )
    if isinstance(error, TaskNotFoundError):
        return ApiError(404, error.message, code="not_found")
    if isinstance(error, JSONParseError):
        return ApiError(400, "the body is not JSON", code="invalid_json")
    if isinstance(error, _BAD_REQUESTS):
        return ApiError(400, error.message)
    return ApiError(422, error.message, kind=AGENT_ERROR, code="failed", headers=_NO_RETRY)


def failure(reply: AgentReply) -> ApiError | None:
    """Return the reason why a task ended without an answer, None if it has one."""
    if reply.state in {"completed", "input-required", "auth-required"}:
        return None
    reason = as_text(reply.status_parts) or f"the agent's task ended as {reply.state}"
    if reply.state == "rejected":
        return ApiError(400, reason, kind=AGENT_ERROR, code="rejected")
    code = "cancelled" if reply.state == "canceled" else "failed"
    return ApiError(422, reason, kind=AGENT_ERROR, code=code, headers=_NO_RETRY)
