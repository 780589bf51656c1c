"""Keeps what goes wrong inside from the wire."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

from a2a.utils.errors import A2AError, InternalError

logger = logging.getLogger(__name__)


@contextmanager
def unexpected_errors_hidden(operation: str) -> Generator[None]:
    """Log anything but an `A2AError` and raise an internal error with an id in its place.

    a2a-sdk's bindings send `str(error)` to the caller, whatever it holds.
    """
    try:
        yield
    except A2AError:
        raise
    except Exception as error:
        error_id = uuid4().hex[:12]
        logger.exception("%s failed, error id %s", operation, error_id)
        raise InternalError(f"Internal error. Error id: {error_id}") from error
