"""Logs failures under an id that callers can quote, and keeps their texts off the wire."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from a2a.utils.errors import A2AError, InternalError

from a2a_adapters.contract.errors import AgentFailedError
from a2a_adapters.observability.requests import CURRENT_REQUEST, note_error
from a2a_adapters.protocol.messages import new_id

if TYPE_CHECKING:
    from types import TracebackType

_SUMMARY_LENGTH = 300

logger = logging.getLogger(__name__)


class LimitReachedError(AgentFailedError):
    """A run exceeded a limit of this server. The text is for the caller, `detail` for the log."""

    def __init__(self, text: str, detail: str) -> None:
        super().__init__("limit", text)
        self.detail = detail


def log_failure(what: str, error: BaseException) -> str:
    """Log an error in one line with its type and message, and return an id for the caller.

    The traceback follows, except for a `LimitReachedError`.
    """
    error_id = new_id()
    if isinstance(error, LimitReachedError):
        logger.error("%s, error id %s: %s", what, error_id, error.detail)
        return error_id
    hide_parameters(error)
    logger.error("%s, error id %s: %s", what, error_id, _summary(error), exc_info=error)
    return error_id


def _summary(error: BaseException) -> str:
    """Return an error's type and the start of its message in one line."""
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    name = f"{module}{kind.__qualname__}"
    try:
        message = " ".join(str(error).split())
    except Exception:  # __str__ failed
        message = ""
    if len(message) > _SUMMARY_LENGTH:
        message = f"{message[:_SUMMARY_LENGTH]}..."
    return f"{name}: {message}" if message else name


def hide_parameters(error: BaseException | None) -> None:
    """Hide the parameters of statements in SQLAlchemy's errors, which may contain secrets."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        error = todo.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        if getattr(error, "hide_parameters", None) is False:
            error.hide_parameters = True  # type: ignore[attr-defined]
        todo += [error.__cause__, error.__context__]
        if isinstance(error, BaseExceptionGroup):
            todo += error.exceptions


def hidden(error: Exception, what: str) -> A2AError:
    """Return the error for the caller: an `A2AError` itself, else an internal error with an id.

    Other errors are logged; their text is not sent.
    """
    note_error(error)
    if isinstance(error, A2AError):
        return error
    error_id = log_failure(f"{what} failed", error)
    return InternalError(f"Internal error. Error id: {error_id}")


class UnexpectedErrorsHidden:
    """A context that logs unexpected errors, and raises an internal error with an id instead.

    Use it also under a2a-sdk's bindings: they send `str(error)` to callers.
    """

    __slots__ = ("_operation",)

    def __init__(self, operation: str) -> None:
        self._operation = operation

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and (public := hidden(error, self._operation)) is not error:
            raise public from error


class OperationGuard(UnexpectedErrorsHidden):
    """The same for an operation of A2A, which is noted in the request's record."""

    __slots__ = ()

    def __enter__(self) -> None:
        if (record := CURRENT_REQUEST.get()) is not None:
            record.operation = self._operation
