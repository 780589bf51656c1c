"""The refusal of a message for which there is no room now.

A2A has no error for that. Its specification counts it among the temporary system errors: HTTP
503, gRPC UNAVAILABLE, with guidance when to retry (A2A 1.0, section 3.3.2). JSON-RPC's code
for internal errors would say that retrying is no use, so it gets the one that JSON-RPC leaves to
servers, outside of the range of A2A's own (section 9.5).
"""

from __future__ import annotations

from a2a.server.jsonrpc_models import JSONRPCError
from a2a.server.request_handlers.response_helpers import EXCEPTION_MAP
from a2a.utils.errors import (
    A2A_ERROR_MAPPING,
    A2A_ERROR_REASONS,
    JSON_RPC_ERROR_CODE_MAP,
    A2AError,
    ErrorMapping,
)

_RETRY_AFTER_SECONDS = 1
"""When to try again: runs end all the time."""


class ServerBusyError(A2AError):
    """The agent has as much to do as it may, or is being stopped. Nothing was begun."""

    message = "The agent is busy; try again later"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, {"retryAfterSeconds": str(_RETRY_AFTER_SECONDS)})


# a2a-sdk's bindings look errors up by their class here.
JSON_RPC_ERROR_CODE_MAP[ServerBusyError] = -32000
A2A_ERROR_MAPPING[ServerBusyError] = ErrorMapping(503, "UNAVAILABLE", "SERVER_BUSY")
A2A_ERROR_REASONS[ServerBusyError] = "SERVER_BUSY"
EXCEPTION_MAP[ServerBusyError] = JSONRPCError
