"""What went wrong, for the log; and the id by which a caller can ask about it."""

from __future__ import annotations

import logging

from a2a_adapters.protocol.ids import new_id

logger = logging.getLogger(__name__)


class LimitReachedError(Exception):
    """A limit of this server has ended something: no code has failed. The text is for the caller.

    Attributes:
        detail: What the log says of it.
    """

    def __init__(self, text: str, detail: str) -> None:
        super().__init__(text)
        self.detail = detail


def log_failure(what: str, error: BaseException) -> str:
    """Log an error with its traceback, and return the error id: all that callers are told.

    A limit that was reached is logged in one line.
    """
    error_id = new_id()
    if isinstance(error, LimitReachedError):
        logger.error("%s, error id %s: %s", what, error_id, error.detail)
        return error_id
    hide_parameters(error)
    logger.error("%s, error id %s", what, error_id, exc_info=error)
    return error_id


def hide_parameters(error: BaseException | None) -> None:
    """Keep errors of SQLAlchemy from telling what a statement was given: tokens, what was said."""
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
