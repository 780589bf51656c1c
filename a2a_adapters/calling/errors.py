"""Errors of calls to remote agents.

    RemoteAgentError (A2AAdaptersError)           a call to a remote agent failed
    ├── RemoteConnectionError (ConnectionError)   the agent is unreachable, or a connection broke
    ├── RemoteTimeoutError (TimeoutError)         the agent did not answer in time
    ├── RemoteAuthError (PermissionError)         the agent requires (other) credentials
    ├── RemoteRefusedError                        the agent answered with a protocol error
    ├── RemoteAnswerError (ValueError)            the answer is not A2A, or is too large
    │   ├── NoCardError                           there is no card for an agent's name
    │   └── CardSignatureError                    the card is not signed by a trusted key
    └── RemoteTaskError                           the task failed, was rejected or cancelled

Their texts may quote the remote agent, which is untrusted input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import A2AAdaptersError, ErrorCategory

if TYPE_CHECKING:
    from a2a_adapters.calling.reply import AgentReply

__all__ = [
    "CardSignatureError", "NoCardError", "RemoteAgentError", "RemoteAnswerError", "RemoteAuthError",
    "RemoteConnectionError", "RemoteRefusedError", "RemoteTaskError", "RemoteTimeoutError",
]  # fmt: skip


class RemoteAgentError(A2AAdaptersError):
    """A call to a remote agent failed.

    Attributes:
        task_id: The remote task; "" if there is none or it is unknown.
        context_id: The remote conversation, likewise.
    """

    as_model_failure: ErrorCategory | None = "model_unavailable"

    def __init__(self, message: str, *, task_id: str = "", context_id: str = "") -> None:
        super().__init__(message)
        self.task_id = task_id
        self.context_id = context_id


class RemoteConnectionError(RemoteAgentError, ConnectionError):
    """The agent cannot be reached or is busy, or the connection broke and could not be resumed.

    Attributes:
        may_have_arrived: Whether the agent may have received the message, and may answer it.
    """

    may_have_arrived = True


class RemoteTimeoutError(RemoteAgentError, TimeoutError):
    """The agent did not answer in time."""


class RemoteAuthError(RemoteAgentError, PermissionError):
    """The agent requires credentials, or other ones (HTTP 401 and 403)."""

    as_model_failure = "model_refused"


class RemoteRefusedError(RemoteAgentError):
    """The agent answered with a protocol error (A2A 1.0, section 3.3.2).

    Attributes:
        code: The JSON-RPC code, such as -32001 for an unknown task; 0 if there is none.
    """

    as_model_failure = "model_refused"

    def __init__(
        self, message: str, *, code: int = 0, task_id: str = "", context_id: str = ""
    ) -> None:
        super().__init__(message, task_id=task_id, context_id=context_id)
        self.code = code


class RemoteAnswerError(RemoteAgentError, ValueError):
    """The response is not A2A, contains no answer, or is too large."""


class NoCardError(RemoteAnswerError):
    """There is no card for the name of an agent.

    Args:
        message: The problem.
        hint: Suggests another name.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message}; {hint}" if hint else message)
        self.message = message
        self.hint = hint


class CardSignatureError(RemoteAnswerError):
    """The agent's card is not signed by a trusted key (`RemoteOptions.trusted_keys`)."""


class RemoteTaskError(RemoteAgentError):
    """The remote task failed, was rejected or was cancelled.

    Attributes:
        state: "failed", "rejected" or "canceled".
        reply: The partial answer.
    """

    def __init__(self, message: str, reply: AgentReply) -> None:
        super().__init__(message, task_id=reply.task_id, context_id=reply.context_id)
        self.state = reply.state
        self.reply = reply
        self.is_rejection = reply.state == "rejected"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.reply)  # engines store exceptions
