"""One log line per request, over any binding."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.contract.telemetry import ObservedRequest
from a2a_adapters.contract.text import clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

logger = logging.getLogger("a2a_adapters.requests")


def is_observed(headers: Mapping[str, str]) -> bool:
    """Return whether a request is logged or traced."""
    return logger.isEnabledFor(logging.INFO) or installed_plugins().telemetry.is_needed(headers)


@contextmanager
def observed(
    verb: str,
    path: str,
    headers: Mapping[str, str],
    status: int | str = 0,
    *,
    trusts: bool | None = None,
) -> Iterator[RequestRecord]:
    """Process a request in its trace, and log it.

    Args:
        verb: The HTTP method, or "gRPC".
        path: The requested path.
        headers: The headers by lower-case name.
        status: The status if none is recorded.
        trusts: Whether the trace of the headers is continued; None if the caller's authentication
            decides.
    """
    record = RequestRecord(status=status)
    path = clipped(path)
    token = CURRENT_REQUEST.set(record)
    began_at = time.perf_counter()
    try:
        request = record.observed = installed_plugins().telemetry.request(
            verb, path, headers, record
        )
        with request:
            if trusts is not None:
                request.decide(is_trusted=trusts)
            try:
                yield record
            finally:
                request.decide(is_trusted=False)
                _log(verb, path, record, time.perf_counter() - began_at)
    finally:
        CURRENT_REQUEST.reset(token)


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
        observed: The request as telemetry observes it.
    """

    operation: str = ""
    task_id: str = ""
    context_id: str = ""
    owner: str = ""
    error: str = ""
    status: int | str = 0
    is_hidden: bool = False
    observed: ObservedRequest = field(default_factory=ObservedRequest)

    def note_task(self, task_id: str, context_id: str, owner: str) -> None:
        """Record the task of the request."""
        self.task_id, self.context_id, self.owner = task_id, context_id, owner

    def fields(self) -> dict[str, str]:
        """Return the recorded fields without the status."""
        names = ("operation", "task_id", "context_id", "owner", "error")
        return {name: value for name in names if (value := getattr(self, name))}


CURRENT_REQUEST: ContextVar[RequestRecord | None] = ContextVar("a2a_request", default=None)
"""The record of the current request; None if it is not observed."""


def note_authenticated() -> None:
    """Continue the trace of the current request's caller, whose credentials are valid."""
    if (record := CURRENT_REQUEST.get()) is not None:
        record.observed.decide(is_trusted=True)


def note_error(error: BaseException) -> None:
    """Record the error with which the current request is refused."""
    if (record := CURRENT_REQUEST.get()) is not None:
        record.error = type(error).__name__
