"""Errors of calls to remote agents.

    RemoteAgentError (A2AAdaptersError)   a remote agent did not do what it was asked
    ├── RemoteConnectionError (ConnectionError)   it cannot be reached, or the connection broke
    ├── RemoteTimeoutError (TimeoutError)   it did not answer in time
    ├── RemoteAuthError (PermissionError)   it wants other credentials
    ├── RemoteRefusedError            it answered with an error of the protocol
    ├── RemoteAnswerError (ValueError)   the answer is not A2A, or is too large
    │   └── NoCardError              an agent's name leads to no card
    └── RemoteTaskError               the task failed, was rejected or was cancelled

What an error quotes was written by the remote agent: trust it no more than its answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import A2AAdaptersError, ErrorCategory

if TYPE_CHECKING:
    from a2a_adapters.calling.reply import AgentReply

__all__ = [
    "NoCardError",
    "RemoteAgentError",
    "RemoteAnswerError",
    "RemoteAuthError",
    "RemoteConnectionError",
    "RemoteRefusedError",
    "RemoteTaskError",
    "RemoteTimeoutError",
]


class RemoteAgentError(A2AAdaptersError):
    """A remote agent did not do what it was asked.

    Attributes:
        task_id: The remote task, "" when none was begun or it is not known.
        context_id: The remote conversation, likewise.
    """

    as_model_failure: ErrorCategory | None = "model_unavailable"

    def __init__(self, message: str, *, task_id: str = "", context_id: str = "") -> None:
        super().__init__(message)
        self.task_id = task_id
        self.context_id = context_id


class RemoteConnectionError(RemoteAgentError, ConnectionError):
    """The agent cannot be reached, or the connection broke and could not be taken up again."""


class RemoteTimeoutError(RemoteAgentError, TimeoutError):
    """The agent did not answer in the time it was given."""


class RemoteAuthError(RemoteAgentError, PermissionError):
    """The agent wants credentials, or other ones (HTTP 401 and 403)."""

    as_model_failure = "model_refused"


class RemoteRefusedError(RemoteAgentError):
    """The agent answered with an error of the protocol (A2A 1.0, section 3.3.2).

    Attributes:
        code: The JSON-RPC code, -32001 for an unknown task for instance; 0 if there is none.
    """

    as_model_failure = "model_refused"

    def __init__(
        self, message: str, *, code: int = 0, task_id: str = "", context_id: str = ""
    ) -> None:
        super().__init__(message, task_id=task_id, context_id=context_id)
        self.code = code


class RemoteAnswerError(RemoteAgentError, ValueError):
    """What came back is not A2A, holds no answer, or is larger than allowed."""


class NoCardError(RemoteAnswerError):
    """The name of an agent leads to no card.

    Args:
        message: What there is in its place.
        hint: What to name instead.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint


class RemoteTaskError(RemoteAgentError):
    """The remote task ended without an answer.

    Attributes:
        state: "failed", "rejected" or "canceled".
        reply: What had come until then.
    """

    def __init__(self, message: str, reply: AgentReply) -> None:
        super().__init__(message, task_id=reply.task_id, context_id=reply.context_id)
        self.state = reply.state
        self.reply = reply
        if reply.state == "rejected":
            self.as_model_failure = "model_refused"
