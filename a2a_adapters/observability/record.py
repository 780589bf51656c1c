"""What is known of the request that is being answered."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters.runtime.live import LiveTask


@dataclass(slots=True)
class RequestRecord:
    """Filled while a request is answered, logged when it has been.

    Attributes:
        operation: The operation's name in the specification; empty if it is none of A2A.
        task_id: The task it is about.
        context_id: The task's conversation.
        owner: The authenticated user's name.
        error: The kind of error it was refused with.
        status: The status of the HTTP answer, the name of gRPC's; 0 if there was no answer.
    """

    operation: str = ""
    task_id: str = ""
    context_id: str = ""
    owner: str = ""
    error: str = ""
    status: int | str = 0

    def fields(self) -> dict[str, str]:
        """Return what is known, without the status."""
        return {name: value for name, value in asdict(self).items() if value and name != "status"}


CURRENT: ContextVar[RequestRecord | None] = ContextVar("a2a_request", default=None)
"""The record of this request; None if nobody wants to know."""


def note_operation(name: str) -> None:
    """Note which operation the request calls."""
    if (record := CURRENT.get()) is not None:
        record.operation = name


def note_task(live: LiveTask) -> None:
    """Note which task the request is about."""
    if (record := CURRENT.get()) is not None:
        record.task_id, record.context_id = live.task_id, live.context_id
        record.owner = live.owner


def note_error(error: BaseException) -> None:
    """Note why the request is refused."""
    if (record := CURRENT.get()) is not None:
        record.error = type(error).__name__
