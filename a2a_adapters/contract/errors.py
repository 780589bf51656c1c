"""Every error this package raises on purpose.

    A2AAdaptersError
    ├── ConfigurationError (ValueError)   the developer has to change something
    │   ├── NoAdapterError (TypeError)    no plugin knows how to serve this object
    │   ├── MissingExtraError (ImportError)   an optional dependency is not installed
    │   ├── TargetError                   a plugin knows the object, but cannot serve it as it is
    │   ├── UnsafeHostError               serving here would expose an open agent
    │   └── ListenError (OSError)         the port is taken, or the host is not this machine's
    ├── ForbiddenUrlError (ValueError)    this process must not connect to that URL
    ├── InvalidInputError (ValueError)    the caller's message cannot be used; told to the caller
    ├── AgentFailedError                  a run failed for a known reason; told to the caller
    │   └── ResumeError                   a run that was cut off cannot go on
    ├── AccessDeniedError                 an `Authenticator` refuses the caller; told to the caller
    │   ├── UnauthenticatedError          there are no credentials, or wrong ones
    │   └── ForbiddenError                the user is known, but may not use the agent
    └── RemoteAgentError                  a remote agent did not do what it was asked; see
                                          `a2a_adapters.calling.errors`

Messages of `ConfigurationError` are for the developer's terminal. Those marked "told to the
caller" are sent to the remote caller, so they must hold nothing private.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from typing import Self

    from pydantic import ValidationError

__all__ = [
    "A2AAdaptersError",
    "AccessDeniedError",
    "AgentFailedError",
    "ConfigurationError",
    "ErrorCategory",
    "ForbiddenError",
    "ForbiddenUrlError",
    "InvalidInputError",
    "ListenError",
    "MissingExtraError",
    "NoAdapterError",
    "TargetError",
    "UnauthenticatedError",
    "UnsafeHostError",
]

ErrorCategory: TypeAlias = Literal[
    "model_unavailable", "model_refused", "limit", "tool", "internal"
]
"""Why an agent failed, as its caller is told.

| category            | what happened                                                              |
|---------------------|----------------------------------------------------------------------------|
| `model_unavailable` | the model is overloaded or cannot be reached; the same call may work later |
| `model_refused`     | the model's provider refused the call: a wrong key, an unknown model, ...  |
| `limit`             | a limit was reached: of time, of steps, of model calls, ...                |
| `tool`              | a tool failed                                                              |
| `internal`          | anything else, such as a bug                                               |
"""


class A2AAdaptersError(Exception):
    """Base of all errors raised by a2a-adapters."""

    as_model_failure: ErrorCategory | None = None
    """How a run failed whose model was called by what raised this; None for no model's error."""


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


class ListenError(ConfigurationError, OSError):
    """No server can listen there: the port is taken, or the host is not this machine's."""


class ForbiddenUrlError(A2AAdaptersError, ValueError):
    """The `OutboundPolicy` does not allow this process to connect to a URL.

    The text names addresses of the network here: it is for the log, not for a remote caller.
    """


class InvalidInputError(A2AAdaptersError, ValueError):
    """The caller's message cannot be used by the target.

    Raised by `Adapter.stream` before the first event it becomes A2A's "invalid params"
    error; raised later it ends the task as rejected. The text is sent to the caller.
    """

    @classmethod
    def of(cls, error: ValidationError) -> Self:
        """Return what pydantic found wrong and where, but not what the server makes of it."""
        found = violations(error)
        return cls("; ".join(f"{place}: {what}" if place else what for place, what in found))


def violations(error: ValidationError) -> list[tuple[str, str]]:
    """Return the places at which pydantic found something wrong, and what that is."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [(".".join(map(str, each["loc"])), each["msg"]) for each in found]


_FAILURES: dict[ErrorCategory, str] = {
    "model_unavailable": "The agent's model is unavailable; please try again later.",
    "model_refused": "The agent's model refused the call.",
    "limit": "The agent reached a limit.",
    "tool": "A tool of the agent failed.",
    "internal": "The agent failed.",
}


class AgentFailedError(A2AAdaptersError):
    """A run failed for a known reason: its task fails with this category and text.

    Raise it `from` what happened, which is logged and never sent.

    Args:
        category: Why it failed; in the task's metadata.
        message: What the caller is told; by default a sentence for the category.
    """

    def __init__(self, category: ErrorCategory = "internal", message: str = "") -> None:
        super().__init__(message or _FAILURES[category])
        self.category = category


class ResumeError(AgentFailedError):
    """A run that was cut off cannot go on. Its task fails with this text."""

    def __init__(self, message: str) -> None:
        super().__init__("internal", message)


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


_SDKS = frozenset(
    {
        "anthropic",
        "cohere",
        "groq",
        "huggingface_hub",
        "litellm",
        "mistralai",
        "ollama",
        "openai",
    }
)
"""Top-level packages of model SDKs. Those of Google and AWS have more than models in theirs."""

_TRANSIENT = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 after which the same call may succeed later."""

_AWAY = frozenset({"APIError", "ConnectionError", "TimeoutError", "TransportError"})
"""Names of exception classes, or of their bases, for calls that got no answer with a status."""

_REFUSED = frozenset({"ContentFilterFinishReasonError", "OpenAIError"})
"""Names of exceptions without a status by which an SDK refuses: a filter, or a missing key."""

_NAMED: dict[str, ErrorCategory] = {
    "APIConnectionError": "model_unavailable",
    "APITimeoutError": "model_unavailable",
    "InternalServerError": "model_unavailable",
    "RateLimitError": "model_unavailable",
    "AuthenticationError": "model_refused",
    "BadRequestError": "model_refused",
    "NotFoundError": "model_refused",
    "PermissionDeniedError": "model_refused",
}
"""Exceptions of the SDKs of OpenAI and Anthropic, by their names."""


def failure_of(error: BaseException) -> AgentFailedError:
    """Return what the caller of a run that raised this error is told."""
    if isinstance(error, AgentFailedError):
        return error
    return model_failure(error) or AgentFailedError()


def model_failure(error: BaseException | str, *, of_model: bool = False) -> AgentFailedError | None:
    """Return how a model call failed; None if neither the error nor a cause of it is known.

    An A2A agent that is called counts as a model.

    Args:
        error: What a run raised, or the name of its class if that is all that is left of it.
        of_model: Whether a model call raised it, so that exceptions of any library count.
    """
    if isinstance(error, str):
        return AgentFailedError(_NAMED[error]) if error in _NAMED else None
    for cause in _causes(error):
        if category := _category(cause, of_model=of_model):
            return AgentFailedError(category)
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, what it was explicitly raised from, and the members of groups."""
    todo, seen = [error], set[int]()
    while todo:
        error = todo.pop(0)
        if id(error) in seen:
            continue
        seen.add(id(error))
        yield error
        if error.__cause__ is not None:
            todo.append(error.__cause__)
        if isinstance(error, BaseExceptionGroup):
            todo += error.exceptions


def _category(error: BaseException, *, of_model: bool) -> ErrorCategory | None:
    if isinstance(error, A2AAdaptersError) and error.as_model_failure:
        return error.as_model_failure
    if not of_model and not _is_of_sdk(type(error).__module__):
        return None
    if status := _status(error):
        is_refused = status < 500 and status not in _TRANSIENT
        return "model_refused" if is_refused else "model_unavailable"
    if not _AWAY.isdisjoint(kind.__name__ for kind in type(error).__mro__):
        return "model_unavailable"
    return "model_refused" if type(error).__name__ in _REFUSED else None


def _is_of_sdk(module: str) -> bool:
    return module.partition(".")[0] in _SDKS or module.startswith("google.genai.")


def _status(error: BaseException) -> int | None:
    """Return the HTTP status with which a call failed, wherever the SDK keeps it."""
    response = getattr(error, "response", None)
    found = [getattr(error, "status_code", None), getattr(error, "code", None)]
    found.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):  # of botocore
        found.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((n for n in found if isinstance(n, int) and 400 <= n < 600), None)
