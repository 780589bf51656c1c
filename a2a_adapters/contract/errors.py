"""The errors of this package.

    A2AAdaptersError
    ├── ConfigurationError (ValueError)       the developer's setup is wrong
    │   ├── NoAdapterError (TypeError)        no plugin can serve the target
    │   ├── MissingExtraError (ImportError)   an optional dependency is not installed
    │   ├── TargetError                       the target's type is supported, but not this object
    │   ├── UnsafeHostError                   the host would expose an unauthenticated agent
    │   └── ListenError (OSError)             the port is in use, or the host is not local
    ├── ForbiddenUrlError (ValueError)        the outbound policy forbids a URL
    ├── InvalidInputError (ValueError) *      the agent cannot use the caller's message
    ├── BlockedError *                        a guardrail blocked the message or the answer
    ├── AgentFailedError *                    a run failed for a known reason
    │   └── ResumeError *                     an interrupted run cannot be continued
    ├── AccessDeniedError *                   an `Authenticator` refuses the caller
    │   ├── UnauthenticatedError *            the credentials are missing or wrong
    │   └── ForbiddenError *                  the user may not use the agent
    └── RemoteAgentError                      a call to a remote agent failed: see `calling.errors`

The text of errors marked * is sent to the remote caller, so it must contain nothing private. The
text of a `ConfigurationError` is for the developer's terminal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from typing import Self

    from pydantic import ValidationError

__all__ = [
    "A2AAdaptersError", "AccessDeniedError", "AgentFailedError", "BlockedError",
    "ConfigurationError", "ErrorCategory", "ForbiddenError", "ForbiddenUrlError",
    "InvalidInputError", "ListenError", "MissingExtraError", "NoAdapterError", "TargetError",
    "UnauthenticatedError", "UnsafeHostError",
]  # fmt: skip

ErrorCategory: TypeAlias = Literal[
    "model_unavailable", "model_refused", "limit", "tool", "internal"
]
"""The reason why an agent failed, sent to its caller.

| category            | cause                                                                     |
|---------------------|---------------------------------------------------------------------------|
| `model_unavailable` | the model is overloaded or unreachable; a retry may succeed               |
| `model_refused`     | the model's provider refused the call: wrong key, unknown model, ...      |
| `limit`             | a limit on time, steps, model calls, ... was reached                      |
| `tool`              | a tool failed                                                             |
| `internal`          | anything else, such as a bug                                              |
"""


class A2AAdaptersError(Exception):
    """Base class of all errors that a2a-adapters raises."""

    as_model_failure: ErrorCategory | None = None
    """The category of a run whose model call raised this error; None if no model call can."""
    is_rejection = False
    """Whether another agent has rejected the run's message, so that the run is rejected as well."""


class ConfigurationError(A2AAdaptersError, ValueError):
    """The developer's setup is wrong; the text says what to change."""


class NoAdapterError(ConfigurationError, TypeError):
    """No plugin can serve the target."""


class MissingExtraError(ConfigurationError, ImportError):
    """A feature needs an extra of a2a-adapters that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs: pip install 'a2a-adapters[{extra}]'")


class TargetError(ConfigurationError):
    """The target's type is supported, but this object cannot be served as it is."""


class UnsafeHostError(ConfigurationError):
    """The host would expose an agent without authentication to other machines."""


class ListenError(ConfigurationError, OSError):
    """The server cannot listen: the port is in use, or the host is not local."""


class ForbiddenUrlError(A2AAdaptersError, ValueError):
    """The `OutboundPolicy` forbids connecting to a URL.

    The text contains internal addresses: log it, but do not send it to a remote caller.

    Attributes:
        host: The host that `OutboundPolicy.allowed_hosts` would allow; "" if that is not the
            reason.
    """

    def __init__(self, message: str, *, host: str = "", is_private: bool = False) -> None:
        remedy = f"allowed_hosts={{{host!r}}}"
        if is_private:
            remedy = f"allow_private=True or {remedy}"
        super().__init__(f"{message}; OutboundPolicy({remedy}) allows it" if host else message)
        self.message = message
        self.host = host


class InvalidInputError(A2AAdaptersError, ValueError):
    """The agent cannot use the caller's message. The text is sent to the caller.

    Raised by `Adapter.stream` before the first event, it becomes A2A's "invalid params" error;
    raised later, it rejects the task.
    """

    @classmethod
    def of(cls, error: ValidationError) -> Self:
        """Return an error that lists the fields that pydantic refused, without their values."""
        found = violations(error)
        return cls("; ".join(f"{field}: {text}" if field else text for field, text in found))


class BlockedError(A2AAdaptersError):
    """A guardrail blocked the run. Its task is rejected with this text, without its answer.

    Raise it `from` the framework's exception, which may quote what was blocked.
    """

    def __init__(self, message: str = "A guardrail of the agent blocked the run.") -> None:
        super().__init__(message)


_REJECTED = "An agent that this agent asked has rejected the message."


def block_in(error: BaseException) -> BlockedError | None:
    """Return the rejection of a run that raised `error`: by a guardrail, or by another agent."""
    if any(isinstance(each, A2AAdaptersError) and each.is_rejection for each in _causes(error)):
        return BlockedError(_REJECTED)
    while isinstance(error, BaseExceptionGroup):  # which a group of asyncio tasks raises
        if (found := error.subgroup(BlockedError)) is None:
            return None
        error = found.exceptions[0]
    return error if isinstance(error, BlockedError) else None


def violations(error: ValidationError) -> list[tuple[str, str]]:
    """Return the path and the problem of each field that pydantic refused."""
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
    """Fails the task with a category and a text for the caller.

    Raise it `from` the cause, which is logged but not sent.

    Args:
        category: The reason, sent in the task's metadata.
        message: The text sent to the caller; by default a sentence for the category.
    """

    def __init__(self, category: ErrorCategory = "internal", message: str = "") -> None:
        super().__init__(message or _FAILURES[category])
        self.category = category


class ResumeError(AgentFailedError):
    """A run whose process died cannot be continued. Its task fails with this text."""

    def __init__(self, message: str) -> None:
        super().__init__("internal", message)


class AccessDeniedError(A2AAdaptersError):
    """An `Authenticator` refuses the caller. The text is logged and sent to the caller.

    Args:
        message: Says what the caller can do. It must contain no part of a credential.
        challenge: The value of the response's `WWW-Authenticate` header.
    """

    def __init__(self, message: str, *, challenge: str = "") -> None:
        super().__init__(message)
        self.challenge = challenge


class UnauthenticatedError(AccessDeniedError):
    """The credentials are missing or wrong: HTTP 401."""


class ForbiddenError(AccessDeniedError):
    """The user is authenticated, but may not use the agent: HTTP 403."""


_SDKS = {
    "anthropic", "cohere", "groq", "huggingface_hub", "litellm", "mistralai", "ollama", "openai",
}  # fmt: skip
"""Top-level packages of model SDKs. Google's and AWS's contain more than models."""

_TRANSIENT = {408, 409, 425, 429}
"""HTTP statuses below 500 after which a retry may succeed."""

_UNAVAILABLE = {"APIError", "ConnectionError", "TimeoutError", "TransportError"}
"""Exception classes, by name, of calls that got no HTTP status; subclasses count."""

_REFUSED = {"ContentFilterFinishReasonError", "OpenAIError"}
"""Names of exceptions by which SDKs report refusals without an HTTP status."""

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
"""Exceptions of the OpenAI and Anthropic SDKs, by name."""


def failure_of(error: BaseException) -> AgentFailedError:
    """Return the failure to report to the caller of a run that raised `error`."""
    if isinstance(error, AgentFailedError):
        return error
    return model_failure(error) or AgentFailedError()


def model_failure(error: BaseException | str, *, of_model: bool = False) -> AgentFailedError | None:
    """Classify a failed model call; return None if neither the error nor its causes are known.

    A remote A2A agent counts as a model.

    Args:
        error: The exception of a run, or only the name of its class.
        of_model: Whether a model call raised it, so that exceptions of any library count.
    """
    if isinstance(error, str):
        return AgentFailedError(_NAMED[error]) if error in _NAMED else None
    for cause in _causes(error):
        if category := _category(cause, of_model=of_model):
            return AgentFailedError(category)
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its explicit causes, and the members of exception groups."""
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
    module = type(error).__module__
    is_from_sdk = module.partition(".")[0] in _SDKS or module.startswith("google.genai.")
    if not of_model and not is_from_sdk:
        return None
    if status := _status(error):
        is_refused = status < 500 and status not in _TRANSIENT
        return "model_refused" if is_refused else "model_unavailable"
    if not _UNAVAILABLE.isdisjoint(kind.__name__ for kind in type(error).__mro__):
        return "model_unavailable"
    return "model_refused" if type(error).__name__ in _REFUSED else None


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of a failed call from wherever the SDK keeps it."""
    response = getattr(error, "response", None)
    found = [getattr(error, "status_code", None), getattr(error, "code", None)]
    found.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):  # botocore
        found.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((n for n in found if isinstance(n, int) and 400 <= n < 600), None)
