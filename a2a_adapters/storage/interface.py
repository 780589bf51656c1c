"""What a storage does. Memory, SQLite and PostgreSQL are its engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from a2a_adapters.contract.adapter import StateStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.cluster.version import TaskVersion
    from a2a.server.request_handlers import RequestHandler
    from a2a.server.tasks import PushNotificationConfigStore, TaskStore
    from a2a.types import Task, TaskPushNotificationConfig
    from prometheus_client.registry import Collector

    from a2a_adapters.storage.quotas import SharedRoom


PATIENCE_SECONDS = 4.0
"""How long a request waits for the storage before it is refused."""

REPLY = "reply"
"""The kind of state under which an answer without a task is kept, by the message's id."""


class UsedMessage(NamedTuple):
    """A message that was accepted before."""

    task_id: str
    """The task it began."""
    digest: bytes
    """Of its content."""


class State(NamedTuple):
    """What is kept of a conversation under a name."""

    owner: str
    context_id: str
    kind: str
    body: bytes


class Undelivered(NamedTuple):
    """A state of a task that a receiver of push notifications has not got yet."""

    owner: str
    task_id: str
    config_id: str
    version: int
    """The stored version of the task that has this state."""


class AgentStorage(StateStorage):
    """What one agent stores, apart from what the others do.

    Attributes:
        tasks: Its tasks, in a2a-sdk's interface: any a2a-sdk server can use it as it is.
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
            owner: Who sent the message.
            message_id: What it is remembered by; one that is empty begins a task each time.
            digest: Of its content.
            task: The task; it changes once it has begun.
            config: Its push notification config, stored with it or not at all.
            joins: Whether there may be other tasks of its conversation.

        Returns:
            The version of the stored task, or what the message began before.

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
        """Forget the task of a message that was accepted but made none, and its config.

        With the agent's `reply` the message stays known; else it may be sent again. What is
        `kept` of conversations from now on is stored with that or not at all.
        """

    @abstractmethod
    async def reply_to(self, owner: str, message_id: str) -> bytes | None:
        """Return the reply that `retract` was given, None if there was none."""

    async def count_attempt(self, owner: str, task_id: str) -> None:
        """Note that a task that was left behind is gone on with; a hand-over takes that back."""

    is_shared = False
    """Whether other processes may use it at the same time."""

    def replicate(self, runtime: RequestHandler) -> RequestHandler:
        """Return what serves a runtime's operations: itself, unless processes share the storage.

        Then it also reaches the tasks that the other processes work on.
        """
        return runtime

    def is_unbroken(self, since: float) -> bool:  # noqa: ARG002
        """Tell whether no other process may have taken what is ours since a time.

        Args:
            since: The time, of `time.monotonic`.
        """
        return True

    def share(self, room: SharedRoom, what: str = "") -> None:
        """Have a room know what owners take at other processes, within seconds.

        Args:
            room: The room.
            what: What is taken; by default memory, in bytes.
        """

    @abstractmethod
    async def undelivered(self) -> Sequence[Undelivered]:
        """Return what processes that are gone had to deliver; from now on it is ours to do."""

    @abstractmethod
    async def delivered(self, item: Undelivered) -> bool:
        """Note that a receiver has got, or never will, a task up to that version.

        Returns:
            Whether it was still this process's to deliver: no other one can have told the
            receiver of a later state before.
        """

    @abstractmethod
    async def prune(self, before: float, most: int) -> int:
        """Forget what is old; return how many tasks.

        Args:
            before: When it ended or was last used, in seconds since 1970.
            most: How many tasks are kept at most; older ones that have ended are forgotten, too.
        """


def number_of(version: TaskVersion) -> int:
    """Return the number that a version of ours holds; 0 is none."""
    return 0 if version.is_missing else int(repr(version)[len("TaskVersion(") : -1])


class Storage(ABC):
    """Everything that a server stores."""

    is_durable: bool
    """Whether it outlives its process."""

    figures: Collector | None = None
    """What it counts, for Prometheus, if it does."""

    away: str = ""
    """What cannot be used now: `storage`, or `bus`, the way to other processes; else empty."""

    @property
    def is_ready(self) -> bool:
        """Whether all of it can be used now."""
        return not self.away

    @abstractmethod
    async def start(self) -> None:
        """Connect, and bring the database up to date.

        Raises:
            ConfigurationError: It cannot be used.
        """

    @abstractmethod
    def of(self, agent: str) -> AgentStorage:
        """Return what one agent stores."""

    @abstractmethod
    def on_trouble(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when nothing can be stored for a while."""

    @abstractmethod
    async def aclose(self, seconds: float) -> None:
        """Write what is left, so many seconds long at most, and disconnect."""
