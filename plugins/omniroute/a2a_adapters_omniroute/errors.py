"""Errors of a gateway.

    RemoteAgentError
    └── OmniRouteError
        ├── OmniRouteNotEnabledError     its A2A endpoint is disabled
        ├── OmniRouteAuthError (RemoteAuthError)   the API key is missing or wrong
        ├── OmniRouteRefusedError        the request is invalid
        │   └── OmniRouteUnknownSkillError   the skill is unknown
        ├── OmniRouteBudgetError         the call exceeds or exceeded its budget
        ├── OmniRouteProviderError       no provider answered
        ├── OmniRouteCancelledError      the task was cancelled
        ├── OmniRouteTaskNotFoundError   the task is unknown or expired
        ├── OmniRouteTaskFinishedError   the task has ended and cannot be cancelled
        └── OmniRouteAnswerError (RemoteAnswerError)   its answer is invalid

An unreachable gateway raises `RemoteConnectionError`, a slow one
`RemoteTimeoutError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import RemoteAgentError, RemoteAnswerError, RemoteAuthError

if TYPE_CHECKING:
    from a2a_adapters_omniroute.calling.reply import OmniRouteReply

__all__ = [
    "OmniRouteAnswerError",
    "OmniRouteAuthError",
    "OmniRouteBudgetError",
    "OmniRouteCancelledError",
    "OmniRouteError",
    "OmniRouteNotEnabledError",
    "OmniRouteProviderError",
    "OmniRouteRefusedError",
    "OmniRouteTaskFinishedError",
    "OmniRouteTaskNotFoundError",
    "OmniRouteUnknownSkillError",
]


class OmniRouteError(RemoteAgentError):
    """A gateway refused or failed a request.

    Attributes:
        reply: The gateway's data about the task, such as its verdict and trace; None if it
            sent none.
    """

    reply: OmniRouteReply | None = None


class OmniRouteNotEnabledError(OmniRouteError):
    """The gateway's A2A endpoint is disabled, which is the default."""


class OmniRouteAuthError(OmniRouteError, RemoteAuthError):
    """The gateway requires another API key."""


class OmniRouteRefusedError(OmniRouteError):
    """The gateway considers the request invalid.

    Attributes:
        code: The JSON-RPC code.
    """

    def __init__(self, message: str, *, code: int = 0, task_id: str = "") -> None:
        super().__init__(message, task_id=task_id)
        self.code = code


class OmniRouteUnknownSkillError(OmniRouteRefusedError):
    """The gateway does not have the skill."""


class OmniRouteBudgetError(OmniRouteError):
    """The call exceeds its budget.

    If the gateway detected this only after the (paid) call, `reply` holds the answer.
    """


class OmniRouteProviderError(OmniRouteError):
    """No provider answered.

    Attributes:
        status: HTTP status of the provider, 0 if unknown.
        retryable: Whether a retry may succeed.
    """

    def __init__(
        self, message: str, *, status: int = 0, retryable: bool = False, task_id: str = ""
    ) -> None:
        super().__init__(message, task_id=task_id)
        self.status = status
        self.retryable = retryable


class OmniRouteCancelledError(OmniRouteError):
    """The task was cancelled while waiting for its answer."""


class OmniRouteTaskNotFoundError(OmniRouteError):
    """The task is unknown; finished tasks expire after ten minutes."""


class OmniRouteTaskFinishedError(OmniRouteError):
    """The task has ended and can no longer be cancelled."""


class OmniRouteAnswerError(OmniRouteError, RemoteAnswerError):
    """The response contains no answer.

    Attributes:
        status: HTTP status, 0 if irrelevant.
    """

    def __init__(self, message: str, *, status: int = 0, task_id: str = "") -> None:
        super().__init__(message, task_id=task_id)
        self.status = status
