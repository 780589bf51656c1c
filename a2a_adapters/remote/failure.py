"""What goes wrong in a call, as one of this package's errors."""

from __future__ import annotations

import httpx
from a2a.client.errors import A2AClientError
from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, A2AError

from a2a_adapters.errors import (
    ForbiddenUrlError,
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
)
from a2a_adapters.remote.quoting import quote

UNAUTHORIZED = frozenset({401, 403})
"""The HTTP statuses of an agent that wants other credentials."""

BUSY = frozenset({429, 503})
"""The HTTP statuses of an agent that has no room now, and has begun nothing."""


def translate(error: Exception) -> RemoteAgentError:
    """Return `error`, raised by a2a-sdk's client or by httpx, as a `RemoteAgentError`."""
    match error:
        case RemoteAgentError():
            return error
        case ForbiddenUrlError():
            return RemoteConnectionError(f"the agent's card names a forbidden address: {error}")
        case A2AClientError(__cause__=httpx.HTTPError() as cause):
            return _from_http(cause)
        case httpx.HTTPError():
            return _from_http(error)
        case A2AError() if code := JSON_RPC_ERROR_CODE_MAP.get(type(error)):
            return RemoteRefusedError(f"the agent refused: {quote(error.message)}", code=code)
        case _:
            return RemoteAnswerError(f"the agent's answer is not A2A: {quote(str(error))}")


def _from_http(error: httpx.HTTPError) -> RemoteAgentError:
    if isinstance(error, httpx.HTTPStatusError):
        return _from_status(error.response.status_code)
    if isinstance(error, httpx.TimeoutException):
        return RemoteConnectionError("the agent was silent for too long")
    return RemoteConnectionError(f"the connection failed: {type(error).__name__}: {error}")


def _from_status(status: int) -> RemoteAgentError:
    if status in UNAUTHORIZED:
        return RemoteAuthError(f"the agent wants credentials, or other ones (HTTP {status})")
    if status in BUSY:
        return RemoteConnectionError(f"the agent is busy (HTTP {status})")
    return RemoteAnswerError(f"the agent answered HTTP {status}")
