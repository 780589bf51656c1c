"""The refusal of a message for which there is no room now."""

from __future__ import annotations

from a2a.utils.errors import A2AError

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
