"""Recognises why a model call failed, by the exceptions of model providers' SDKs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from a2a_adapters.contract.errors import A2AAdaptersError, AgentFailedError, ErrorCategory

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
