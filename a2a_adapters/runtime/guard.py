"""Keeps internal errors off the wire."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from a2a.utils.errors import A2AError, InternalError

from a2a_adapters.observability.failures import log_failure
from a2a_adapters.observability.requests import CURRENT, note_error

if TYPE_CHECKING:
    from types import TracebackType

logger = logging.getLogger(__name__)


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
        if (record := CURRENT.get()) is not None:
            record.operation = self._operation
