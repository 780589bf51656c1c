"""Every error this package raises on purpose.

    A2AAdaptersError
    ├── ConfigurationError (ValueError)   the developer has to change something
    │   ├── NoAdapterError (TypeError)    no plugin knows how to serve this object
    │   ├── MissingExtraError (ImportError)   an optional dependency is not installed
    │   ├── TargetError                   a plugin knows the object, but cannot serve it as it is
    │   └── UnsafeHostError               serving here would expose an open agent
    ├── InvalidInputError (ValueError)    the caller's message cannot be used; told to the caller
    └── AccessDeniedError                 an `Authenticator` refuses the caller; told to the caller
        ├── UnauthenticatedError          nobody, or wrong credentials
        └── ForbiddenError                somebody who may not use the agent

Messages of `ConfigurationError` are for the developer's terminal. Those of `InvalidInputError`
and `AccessDeniedError` are sent to the remote caller, so they must hold nothing private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters.remote.reply import AgentReply

__all__ = [
    "A2AAdaptersError",
    "AccessDeniedError",
    "ConfigurationError",
    "ForbiddenError",
    "InvalidInputError",
    "MissingExtraError",
    "NoAdapterError",
    "RemoteAgentError",
    "RemoteAnswerError",
    "RemoteAuthError",
    "RemoteConnectionError",
    "RemoteRefusedError",
    "RemoteTaskError",
    "RemoteTimeoutError",
    "TargetError",
    "UnauthenticatedError",
    "UnsafeHostError",
]


class A2AAdaptersError(Exception):
    """Base of all errors raised by a2a-adapters."""


class ConfigurationError(A2AAdaptersError, ValueError):
    """Something in the developer's setup must change before it can work."""


class NoAdapterError(ConfigurationError, TypeError):
    """No plugin can serve the target."""


class MissingExtraError(ConfigurationError, ImportError):
    """A feature needs a package that an extra of a2a-adapters installs."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs: pip install 'a2a-adapters[{extra}]'")


class TargetError(ConfigurationError):
    """The target's type is known, but this object cannot be served as it is."""


class UnsafeHostError(ConfigurationError):
    """The host would make an agent without authentication reachable from other machines."""


class ForbiddenUrlError(A2AAdaptersError, ValueError):
    """The `OutboundPolicy` does not allow this process to connect to a URL.

    The text names addresses of the network here: it is for the log, not for a remote caller.
    """


class InvalidInputError(A2AAdaptersError, ValueError):
    """The caller's message cannot be used by the target.

    Raised by `Adapter.stream` before the first event it becomes A2A's "invalid params"
    error; raised later it ends the task as rejected. The text is sent to the caller.
    """


class AccessDeniedError(A2AAdaptersError):
    """An `Authenticator` refuses the caller. The text is sent to the caller, and logged.

    Args:
        message: What the caller can do. Never part of a credential.
        challenge: What the answer's `WWW-Authenticate` says.
    """

    def __init__(self, message: str, *, challenge: str = "") -> None:
        super().__init__(message)
        self.challenge = challenge


class UnauthenticatedError(AccessDeniedError):
    """There are no credentials, or wrong ones: HTTP 401."""


class ForbiddenError(AccessDeniedError):
    """The user is known, but may not use the agent: HTTP 403."""
