"""The push notification configs that memory keeps: bounded."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from a2a.server.tasks import PushNotificationConfigStore
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.types import TaskPushNotificationConfig


_MOST_BYTES = 16 * 1024 * 1024
"""How much all of them may have; one has some 500 bytes."""


class MemoryPushStore(PushNotificationConfigStore):
    """Keeps the configs of the tasks that were given one last.

    What it forgets can no longer be asked for; a task that is alive goes on notifying.

    Args:
        tasks: Of how many tasks.
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
        """Add a config or replace the one with its id."""
        config = normalize_push_notification_config(task_id, notification_config)
        self.put(task_id, context.user.user_name, config)
        return config

    def put(self, task_id: str, owner: str, config: TaskPushNotificationConfig) -> None:
        """Add a config that has an id, or replace the one with that id."""
        self._configs.setdefault(task_id, {})[owner, config.id] = config
        self._configs.move_to_end(task_id)
        self._count(task_id)
        while len(self._configs) > self._tasks or self._bytes > _MOST_BYTES:
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
        """Forget one of the caller's configs of a task, or all."""
        self.discard(task_id, context.user.user_name, config_id)

    def discard(self, task_id: str, owner: str, config_id: str | None = None) -> None:
        """Forget one of an owner's configs of a task, or all."""
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
