"""Keeps what goes wrong inside from the wire."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from a2a.utils.errors import A2AError, InternalError

from a2a_adapters.ids import new_id
from a2a_adapters.observability.record import note_error, note_operation

if TYPE_CHECKING:
    from types import TracebackType

logger = logging.getLogger(__name__)


class UnexpectedErrorsHidden:
    """A context that logs anything but an `A2AError`, and raises an internal error with an id.

    Also for whoever puts the runtime under a2a-sdk's bindings: those send `str(error)` to callers.
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
        if error is None:
            return
        note_error(error)
        if isinstance(error, Exception) and not isinstance(error, A2AError):
            error_id = new_id()
            logger.error("%s failed, error id %s", self._operation, error_id, exc_info=error)
            raise InternalError(f"Internal error. Error id: {error_id}") from error


class OperationGuard(UnexpectedErrorsHidden):
    """The same around an operation of A2A, which it notes in the request's record."""

    __slots__ = ()

    def __enter__(self) -> None:
        note_operation(self._operation)
