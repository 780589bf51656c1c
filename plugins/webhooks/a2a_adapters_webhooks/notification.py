"""Push notifications as typed objects, in their order."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, Self

from pydantic_core import from_json, to_json

from a2a_adapters import RemoteOptions
from a2a_adapters.calling.http import ValueBudget
from a2a_adapters.calling.parsing import CURRENT
from a2a_adapters.dialects import Answer
from a2a_adapters.protocol import states

if TYPE_CHECKING:
    from a2a.types import StreamResponse, TaskStatus

    from a2a_adapters import AgentReply

_DIGESTS = 32
"""Number of notifications per task that are recognised when they are repeated."""


@dataclass(frozen=True, slots=True)
class Notification:
    """A push notification of a task (A2A 1.0, section 4.3.3). Its content is untrusted input.

    Attributes:
        kind: Its content: the whole task, a new status, a part of the results, or a bare message.
        agent: The address at which the task's agent was called. Task ids are unique per agent only.
        task_id: The task.
        context_id: The conversation; "" if the notification does not name it.
        reply: The content. The state of an artifact is "unknown".
        appends: Whether an artifact continues the one with the same id. Otherwise it replaces it,
            such as when the agent corrects its answer.
    """

    kind: Literal["task", "status", "artifact", "message"]
    agent: str
    task_id: str
    context_id: str
    reply: AgentReply
    appends: bool = False


@dataclass(frozen=True, slots=True)
class Arrival:
    """A notification with the values that determine its order."""

    notification: Notification
    status: TaskStatus | None
    digest: str

    @classmethod
    def of(cls, body: bytes, agent: str) -> Self:
        """Parse the body of an agent's notification of A2A 1.0 or 0.3.

        Raises:
            ValueError: It is not a notification of a task, or holds too many values.
        """
        ValueBudget(RemoteOptions().answer_values, is_stream=False).take(body)
        event = CURRENT.event(from_json(body, allow_inf_nan=False))
        answer = Answer()
        answer.fold(event)
        reply = answer.finish()[1]
        if not reply.task_id:
            raise ValueError("the notification names no task")
        kind, status = _content(event)
        appends = event.artifact_update.append
        notification = Notification(kind, agent, reply.task_id, reply.context_id, reply, appends)
        return cls(notification, status, sha256(body).hexdigest()[:16])


def _content(
    event: StreamResponse,
) -> tuple[Literal["task", "status", "artifact", "message"], TaskStatus | None]:
    match event.WhichOneof("payload"):
        case "task":
            return "task", event.task.status
        case "status_update":
            return "status", event.status_update.status
        case "artifact_update":
            return "artifact", None
        case _:
            return "message", None


@dataclass(frozen=True, slots=True)
class Binding:
    """The task that a token stands for.

    Attributes:
        agent: The address at which its agent was called.
        task_id: The task; "" if the agent answered with a message.
    """

    agent: str
    task_id: str

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """Read a stored binding."""
        return cls(**from_json(body))

    def to_json(self) -> bytes:
        """Return the binding for storing."""
        return to_json(asdict(self))

    @property
    def key(self) -> str:
        """The key of the task's record."""
        return sha256(self.to_json()).hexdigest()


@dataclass(frozen=True, slots=True)
class Record:
    """The notifications of one task so far.

    Attributes:
        number: Number of notifications.
        time: Time of the newest status in nanoseconds since 1970; 0 if unknown.
        is_over: Whether the task has ended.
        digests: The latest statuses and tasks.
    """

    number: int = 0
    time: int = 0
    is_over: bool = False
    digests: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, body: bytes | None) -> Self:
        """Read a stored record; None is an empty one."""
        return cls(**from_json(body)) if body else cls()

    def to_json(self) -> bytes:
        """Return the record for storing."""
        return to_json(asdict(self))

    def is_news(self, arrival: Arrival) -> bool:
        """Return whether a notification is neither a repetition nor older than the last one.

        Equal chunks of an artifact may follow each other, so they count as news.
        """
        if self.is_over or arrival.digest in self.digests:
            return False
        return not (0 < _time(arrival) < self.time)

    def after(self, arrival: Arrival) -> Record:
        """Return the record with one more notification."""
        status = arrival.status
        kept = [] if status is None else [arrival.digest]
        return Record(
            number=self.number + 1,
            time=max(self.time, _time(arrival)),
            is_over=status is not None and status.state in states.TERMINAL,
            digests=[*self.digests, *kept][-_DIGESTS:],
        )


def _time(arrival: Arrival) -> int:
    status = arrival.status
    return status.timestamp.ToNanoseconds() if status and status.HasField("timestamp") else 0
