"""The interface of storages. Memory, SQLite and PostgreSQL implement it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Protocol

from a2a_adapters.contract.adapter import StateStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.cluster.version import TaskVersion
    from a2a.server.request_handlers import RequestHandler
    from a2a.server.tasks import PushNotificationConfigStore, TaskStore
    from a2a.types import Task, TaskPushNotificationConfig
    from prometheus_client.registry import Collector


PATIENCE_SECONDS = 4.0
"""Time that a request waits for the storage before it is refused."""

REPLY = "reply"
"""The kind of state that holds a reply without a task, by the message's id."""


class UsedMessage(NamedTuple):
    """A message that was accepted before."""

    task_id: str
    """The task it began."""
    digest: bytes
    """A hash of its content."""


class State(NamedTuple):
    """State of a conversation under a name."""

    owner: str
    context_id: str
    kind: str
    body: bytes


class Undelivered(NamedTuple):
    """A state of a task that is still owed to a push receiver."""

    owner: str
    task_id: str
    config_id: str
    version: int
    """The stored version of the task with this state."""


class SharedQuota(Protocol):
    """Usage by the callers of one agent at one process: bytes of memory, or requests."""

    others: Mapping[str, int]
    """Usage by each owner at the other processes."""

    def shares(self) -> Mapping[str, int]:
        """Return the usage of the heaviest owners in this process."""


class AgentStorage(StateStorage):
    """The storage of one agent.

    Attributes:
        tasks: Its tasks, in a2a-sdk's interface: any a2a-sdk server can use it.
        push_configs: The push notification configs of its tasks.
    """

    tasks: TaskStore | VersionedTaskStore
    push_configs: PushNotificationConfigStore

    @abstractmethod
    async def accept(
        self,
        owner: str,
        message_id: str,
        digest: bytes,
        task: Task,
        config: TaskPushNotificationConfig | None = None,
        *,
        joins: bool = False,
    ) -> UsedMessage | TaskVersion:
        """Store the task that a message begins, unless it began one before.

        Args:
            owner: The sender.
            message_id: Identifies the message; an empty one begins a task each time.
            digest: A hash of its content.
            task: The task; later saves change it.
            config: Its push notification config, stored with it or not at all.
            joins: Whether there may be other tasks of its context.

        Returns:
            The version of the stored task, or the outcome of the first arrival.

        Raises:
            ConversationElsewhereError: Another process works on one of these; nothing was stored.
        """

    @abstractmethod
    async def retract(
        self,
        owner: str,
        message_id: str,
        task_id: str,
        reply: bytes | None = None,
        kept: Collection[State] = (),
    ) -> None:
        """Forget the task reserved for an accepted message that created none, and its config.

        With the agent's `reply`, the message stays known; otherwise it may be sent again. `kept` is
        the state of conversations, stored in the same transaction.
        """

    async def acknowledge(
        self,
        owner: str,  # noqa: ARG002 - there may be no other processes
        message_id: str,  # noqa: ARG002
        task_id: str,  # noqa: ARG002
    ) -> bool:
        """Keep the task of a message that another process may still retract.

        Returns:
            Whether the task exists, so that a caller may learn of it.
        """
        return True

    @abstractmethod
    async def reply_to(self, owner: str, message_id: str) -> bytes | None:
        """Return the reply given to `retract`, or None."""

    async def count_attempt(self, owner: str, task_id: str) -> None:
        """Note that an orphaned task is resumed; a hand-over undoes that."""

    is_shared = False
    """Whether other processes may use it at the same time."""

    def replicate(self, runtime: RequestHandler) -> RequestHandler:
        """Return a handler that also reaches the tasks of other processes on this storage.

        That is the runtime itself, unless processes share the storage.
        """
        return runtime

    def is_unbroken(self, since: float) -> bool:  # noqa: ARG002
        """Return whether no other process can have taken our tasks since a `time.monotonic`."""
        return True

    def share(self, quota: SharedQuota, what: str = "") -> None:
        """Exchange the usage of a quota with the other processes, within seconds.

        Args:
            quota: The quota.
            what: The counted unit; by default bytes of memory.
        """

    async def undelivered(self) -> Sequence[Undelivered]:
        """Take over and return the undelivered states of dead processes."""
        return ()

    async def delivered(self, item: Undelivered) -> bool:  # noqa: ARG002
        """Note that a receiver has got a task up to that version, or never will.

        Returns:
            Whether this process still owed it, so that no other process can have sent a later state
            earlier.
        """
        return True

    async def prune(self, before: float, most: int) -> int:  # noqa: ARG002
        """Delete old data; return the number of deleted tasks.

        Args:
            before: Deletes data that ended or was last used before this time, in seconds since
                1970.
            most: The maximum number of tasks; surplus terminal tasks are deleted, oldest first.
        """
        return 0


def number_of(version: TaskVersion) -> int:
    """Return the number in a version of ours; 0 if there is none."""
    return 0 if version.is_missing else int(repr(version)[len("TaskVersion(") : -1])


class Storage(ABC):
    """The storage of a server."""

    is_durable: bool
    """Whether it outlives its process."""

    figures: Collector | None = None
    """Its metrics for Prometheus, if any."""

    away: str = ""
    """The unavailable part: `storage`, or `bus` (the link to other processes); else empty."""

    @property
    def is_ready(self) -> bool:
        """Whether all of it is available."""
        return not self.away

    async def start(self) -> None:  # noqa: B027
        """Connect, and migrate the database.

        Raises:
            ConfigurationError: It cannot be used.
        """

    @abstractmethod
    def of(self, agent: str) -> AgentStorage:
        """Return the storage of one agent."""

    def on_trouble(self, listener: Callable[[], None]) -> None:  # noqa: B027
        """Register a callback for when nothing can be stored for a while."""

    async def aclose(self, seconds: float) -> None:  # noqa: B027
        """Write pending data within a time limit, and disconnect."""
