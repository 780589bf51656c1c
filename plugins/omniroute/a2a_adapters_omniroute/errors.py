"""What a gateway refuses or fails to do.

    RemoteAgentError
    └── OmniRouteError
        ├── OmniRouteNotEnabledError     its A2A endpoint is switched off
        ├── OmniRouteAuthError (RemoteAuthError)   the API key is missing or wrong
        ├── OmniRouteRefusedError        the request was not understood
        │   └── OmniRouteUnknownSkillError   it has no such skill
        ├── OmniRouteBudgetError         the call would cost, or has cost, more than allowed
        ├── OmniRouteProviderError       no provider gave an answer
        ├── OmniRouteCancelledError      the task was cancelled meanwhile
        ├── OmniRouteTaskNotFoundError   it does not know the task, or has forgotten it
        ├── OmniRouteTaskFinishedError   the task has ended and cannot be cancelled
        └── OmniRouteAnswerError (RemoteAnswerError)   what it answered makes no sense

A gateway that cannot be reached is a `RemoteConnectionError`, one that is too slow a
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
    """A gateway did not do what it was asked.

    Attributes:
        reply: What the gateway says of the task, its verdict and trace for instance; None if it
            says nothing.
    """

    reply: OmniRouteReply | None = None


class OmniRouteNotEnabledError(OmniRouteError):
    """The gateway's A2A endpoint is switched off, as it is after installation."""


class OmniRouteAuthError(OmniRouteError, RemoteAuthError):
    """The gateway wants an API key, or another one."""


class OmniRouteRefusedError(OmniRouteError):
    """The gateway did not understand the request.

    Attributes:
        code: The JSON-RPC code.
    """

    def __init__(self, message: str, *, code: int = 0, task_id: str = "") -> None:
        super().__init__(message, task_id=task_id)
        self.code = code


class OmniRouteUnknownSkillError(OmniRouteRefusedError):
    """The gateway has no such skill."""


class OmniRouteBudgetError(OmniRouteError):
    """The call is over its budget.

    If the gateway found out only after the call, which is paid for then, `reply` holds the answer.
    """


class OmniRouteProviderError(OmniRouteError):
    """No provider gave an answer.

    Attributes:
        status: The HTTP status of the provider, 0 if the gateway does not tell.
        retryable: Whether the same call may work later.
    """

    def __init__(
        self, message: str, *, status: int = 0, retryable: bool = False, task_id: str = ""
    ) -> None:
        super().__init__(message, task_id=task_id)
        self.status = status
        self.retryable = retryable


class OmniRouteCancelledError(OmniRouteError):
    """The task was cancelled while its answer was waited for."""


class OmniRouteTaskNotFoundError(OmniRouteError):
    """The gateway does not know the task; it forgets finished ones after ten minutes."""


class OmniRouteTaskFinishedError(OmniRouteError):
    """The task has ended and cannot be cancelled any more."""


class OmniRouteAnswerError(OmniRouteError, RemoteAnswerError):
    """What came back holds no answer.

    Attributes:
        status: The HTTP status, 0 if it says nothing.
    """

    def __init__(self, message: str, *, status: int = 0, task_id: str = "") -> None:
        super().__init__(message, task_id=task_id)
        self.status = status
