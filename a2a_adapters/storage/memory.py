"""The storage in memory: bounded, lost with the process. Also opens storages by URL."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, cast

from a2a.server.cluster.version import TaskVersion
from a2a.server.tasks import PushNotificationConfigStore
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config

from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.storage.interface import REPLY, AgentStorage, State, Storage, UsedMessage
from a2a_adapters.storage.memory_tasks import MemoryTaskStore
from a2a_adapters.storage.states import ProcessStates, state_key

if TYPE_CHECKING:
    from collections.abc import Collection

    from a2a.server.context import ServerCallContext
    from a2a.types import Task, TaskPushNotificationConfig

    from a2a_adapters.contract.limits import Limits


class MemoryStorage(Storage):
    """Keeps everything in this process."""

    is_durable = False

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._agents: dict[str, MemoryAgentStorage] = {}

    def of(self, agent: str) -> MemoryAgentStorage:
        """Return the storage of one agent."""
        if agent not in self._agents:
            self._agents[agent] = MemoryAgentStorage(self._limits, agent)
        return self._agents[agent]


class MemoryAgentStorage(ProcessStates, AgentStorage):
    """The storage of one agent."""

    push_configs: MemoryPushStore

    def __init__(self, limits: Limits, agent: str = "") -> None:
        super().__init__(limits)
        self.tasks = MemoryTaskStore(limits)
        self.agent = agent
        self.push_configs = MemoryPushStore(limits.finished_tasks)
        kept = limits.runs + limits.waiting_tasks + limits.finished_tasks
        self._messages: BoundedMap[bytes, bytes] = BoundedMap(kept, limits.finished_seconds)

    async def accept(
        self,
        owner: str,
        message_id: str,
        digest: bytes,
        task: Task,
        config: TaskPushNotificationConfig | None = None,
        *,
        joins: bool = False,  # noqa: ARG002 - there are no other processes
    ) -> UsedMessage | TaskVersion:
        """Note that a message begins a task, unless it began one before."""
        name = state_key(owner, message_id)
        if message_id and (used := self._messages.get(name)) is not None:
            task_id, _, known = used.partition(b"\0")
            return UsedMessage(task_id.decode(), known)
        if message_id:
            self._messages[name] = b"%b\0%b" % (task.id.encode(), digest)
        if config is not None:
            self.push_configs.put(task.id, owner, config)
        return TaskVersion.MISSING

    async def retract(
        self,
        owner: str,
        message_id: str,
        task_id: str,
        reply: bytes | None = None,
        kept: Collection[State] = (),
    ) -> None:
        """Let a message that made no task be sent again, unless it was answered."""
        self.push_configs.discard(task_id, owner)
        for state in kept:
            await self.write_state(*state)
        if not message_id:
            return
        if reply is None:
            self._messages.pop(state_key(owner, message_id))
        else:
            await self.write_state(owner, message_id, REPLY, reply)

    async def reply_to(self, owner: str, message_id: str) -> bytes | None:
        """Return the reply given to `retract`, or None."""
        return await self.read_state(owner, message_id, REPLY)


_PUSH_CONFIG_BYTES = 16 * 1024 * 1024
"""The total size of all configs; one has about 500 bytes."""


class MemoryPushStore(PushNotificationConfigStore):
    """Keeps the configs of the tasks that were given one last, up to a number of tasks.

    A dropped config can no longer be read, but a live task still uses it.
    """

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._sizes: dict[str, int] = {}
        self._bytes = 0
        self._configs: OrderedDict[str, dict[tuple[str, str], TaskPushNotificationConfig]] = (
            OrderedDict()
        )

    async def set_info(
        self,
        task_id: str,
        notification_config: TaskPushNotificationConfig,
        context: ServerCallContext,
    ) -> TaskPushNotificationConfig:
        """Add or replace a config."""
        config = normalize_push_notification_config(task_id, notification_config)
        self.put(task_id, context.user.user_name, config)
        return config

    def put(self, task_id: str, owner: str, config: TaskPushNotificationConfig) -> None:
        """Add or replace a config that has an id."""
        self._configs.setdefault(task_id, {})[owner, config.id] = config
        self._configs.move_to_end(task_id)
        self._count(task_id)
        while len(self._configs) > self._tasks or self._bytes > _PUSH_CONFIG_BYTES:
            oldest = next(iter(self._configs))
            del self._configs[oldest]
            self._count(oldest)

    async def get_info(
        self, task_id: str, context: ServerCallContext
    ) -> list[TaskPushNotificationConfig]:
        """Return the caller's configs of a task."""
        configs = self._configs.get(task_id, {})
        return [c for (owner, _), c in configs.items() if owner == context.user.user_name]

    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        """Return all configs of a task."""
        return list(self._configs.get(task_id, {}).values())

    async def delete_info(
        self, task_id: str, context: ServerCallContext, config_id: str | None = None
    ) -> None:
        """Delete one of the caller's configs of a task, or all."""
        self.discard(task_id, context.user.user_name, config_id)

    def discard(self, task_id: str, owner: str, config_id: str | None = None) -> None:
        """Delete one of an owner's configs of a task, or all."""
        configs = self._configs.get(task_id)
        if configs is None:
            return
        for place in list(configs):
            if place[0] == owner and config_id in (None, place[1]):
                del configs[place]
        if not configs:
            self._configs.pop(task_id, None)
        self._count(task_id)

    def _count(self, task_id: str) -> None:
        size = sum(config.ByteSize() for config in self._configs.get(task_id, {}).values())
        self._bytes += size - self._sizes.pop(task_id, 0)
        if size:
            self._sizes[task_id] = size


_MEMORY = ("memory:", "memory")


def open_storage(url: str, limits: Limits, *, bus: str | None = None) -> Storage:
    """Return the storage at a URL; `Storage.start` connects it.

    Args:
        url: `memory:`, or a URL that a plugin knows: `sqlite:///file.db`,
            `postgresql://user:password@host/database`.
        limits: The bounds of memory, and the length of leases.
        bus: The URL of a message bus between processes that share the storage, `redis://...`; by
            default the storage itself.

    Raises:
        ConfigurationError: No plugin knows the URL, or the storage has no bus. The text does not
            contain the URL, which may hold a password.
        MissingExtraError: A driver is not installed.
    """
    if url in _MEMORY:
        if bus is not None:
            raise ConfigurationError("a bus is for processes that share a postgresql: storage")
        return MemoryStorage(limits)
    opened = installed_plugins().storage(url, limits, bus)
    if opened is None:
        raise ConfigurationError(
            f"no plugin opens the storage {url.partition(':')[0]}:, see: a2a-adapters plugins"
        )
    return cast("Storage", opened)
