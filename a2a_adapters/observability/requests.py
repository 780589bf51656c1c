"""One log line per request, over any binding."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.contract.text import clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

logger = logging.getLogger("a2a_adapters.requests")


def is_observed(headers: Mapping[str, str]) -> bool:
    """Return whether a request is logged or traced."""
    return logger.isEnabledFor(logging.INFO) or installed_plugins().telemetry.is_needed(headers)


@contextmanager
def observed(
    verb: str, path: str, headers: Mapping[str, str], status: int | str = 0
) -> Iterator[RequestRecord]:
    """Process a request in its trace, and log it; `status` is used if none is recorded."""
    record = RequestRecord(status=status)
    path = clipped(path)
    token = CURRENT.set(record)
    began_at = time.perf_counter()
    try:
        with installed_plugins().telemetry.request(verb, path, headers, record):
            try:
                yield record
            finally:
                _log(verb, path, record, time.perf_counter() - began_at)
    finally:
        CURRENT.reset(token)


def _log(verb: str, path: str, record: RequestRecord, seconds: float) -> None:
    if record.is_hidden or not logger.isEnabledFor(logging.INFO):
        return
    milliseconds = round(seconds * 1000, 3)
    fields = {
        "verb": verb,
        "path": path,
        "status": record.status,
        "duration_ms": milliseconds,
        "trace_id": installed_plugins().telemetry.trace_id(),
        **record.fields(),
    }
    logger.info(
        "%s %s %s in %s ms%s",
        verb,
        # Clients choose the path: keep the message on one line.
        record.operation or ascii(path),
        record.status,
        milliseconds,
        f", task {record.task_id}" if record.task_id else "",
        extra={name: value for name, value in fields.items() if value != ""},
    )


@dataclass(slots=True)
class RequestRecord:
    """The data of a request's log line, recorded while it is processed.

    Attributes:
        operation: The A2A operation, if any.
        task_id: The task.
        context_id: The task's conversation.
        owner: The authenticated user.
        error: The type of the error with which it was refused.
        status: The HTTP status, or the name of the gRPC status; 0 without a response.
        is_hidden: Whether the request is left out of the log.
    """

    operation: str = ""
    task_id: str = ""
    context_id: str = ""
    owner: str = ""
    error: str = ""
    status: int | str = 0
    is_hidden: bool = False

    def note_task(self, task_id: str, context_id: str, owner: str) -> None:
        """Record the task of the request."""
        self.task_id, self.context_id, self.owner = task_id, context_id, owner

    def fields(self) -> dict[str, str]:
        """Return the recorded fields without the status."""
        left_out = {"status", "is_hidden"}
        return {k: v for k, v in asdict(self).items() if v and k not in left_out}


CURRENT: ContextVar[RequestRecord | None] = ContextVar("a2a_request", default=None)
"""The record of the current request; None if it is not observed."""


def note_error(error: BaseException) -> None:
    """Record the error with which the current request is refused."""
    if (record := CURRENT.get()) is not None:
        record.error = type(error).__name__
