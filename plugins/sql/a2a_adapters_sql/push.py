"""Push notification configs in a database."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from a2a.server.tasks import PushNotificationConfigStore
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config
from a2a.types import TaskPushNotificationConfig
from sqlalchemy import delete, select

from a2a_adapters.storage.interface import PATIENCE_SECONDS
from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.schema import key, push_configs, push_outbox, upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.context import ServerCallContext
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.ext.asyncio import AsyncConnection

    from a2a_adapters_sql.database import Database

_PLACE = ("agent", "task", "owner", "config")


class SqlPushStore(PushNotificationConfigStore):
    """Stores the push configs of one agent's tasks.

    Args:
        database: Holds the configs.
        agent: Name of the agent.
    """

    def __init__(self, database: Database, agent: str) -> None:
        self._database = database
        self._agent = agent

    async def set_info(
        self,
        task_id: str,
        notification_config: TaskPushNotificationConfig,
        context: ServerCallContext,
    ) -> TaskPushNotificationConfig:
        """Add a config or replace the one with its id."""
        config = normalize_push_notification_config(task_id, notification_config)
        place = (self._agent, task_id, context.user.user_name, config.id)
        await self._database.write(SaveConfig(place, config), PATIENCE_SECONDS)
        return config

    async def get_info(
        self, task_id: str, context: ServerCallContext
    ) -> list[TaskPushNotificationConfig]:
        """Return the caller's configs of a task."""
        return await self._found(task_id, context.user.user_name)

    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        """Return all configs of a task."""
        return await self._found(task_id, None)

    async def delete_info(
        self, task_id: str, context: ServerCallContext, config_id: str | None = None
    ) -> None:
        """Delete one or all of the caller's configs of a task."""
        place = (self._agent, task_id, context.user.user_name, config_id)
        await self._database.write(DeleteConfigs(place), PATIENCE_SECONDS)

    async def _found(self, task_id: str, owner: str | None) -> list[TaskPushNotificationConfig]:
        columns = push_configs.c
        query = select(columns.body).where(columns.agent == self._agent, columns.task == task_id)
        if owner is not None:
            query = query.where(columns.owner == owner)
        rows = await self._database.read(query.order_by(columns.config))
        return [TaskPushNotificationConfig.FromString(row.body) for row in rows]


class SaveConfig(Write):
    """Stores a config.

    Args:
        place: Agent, task id, owner and config id.
        config: The config.
    """

    def __init__(
        self, place: tuple[str, str, str, str], config: TaskPushNotificationConfig
    ) -> None:
        self.key = ("push config", *map(key, place))
        self.row = {
            **dict(zip(_PLACE, place, strict=True)),
            "body": config.SerializeToString(),
        }

    @classmethod
    def rows(cls, dialect: str, writes: Sequence[SaveConfig]) -> Sequence[Rows]:
        """Return the rows of the configs."""
        return [Rows(_save(dialect), [write.row for write in writes])] if writes else []

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[SaveConfig]
    ) -> Sequence[object]:
        """Write them with one statement."""
        for statement, values in cls.rows(connection.dialect.name, writes):
            await connection.execute(statement, values)
        return [None] * len(writes)


@cache
def _save(dialect: str) -> sqlite.Insert:
    statement = upsert(dialect, push_configs)
    body = statement.excluded.body
    return statement.on_conflict_do_update(index_elements=_PLACE, set_={"body": body})


class DeleteConfigs(Write):
    """Deletes one or all of an owner's configs of a task, and their pending deliveries.

    Args:
        place: Agent, task id, owner, and config id; None means all configs.
    """

    order = 2

    def __init__(self, place: tuple[str, str, str, str | None]) -> None:
        self.key = ("push config", *(key(name or "") for name in place))
        self._place = {
            column: name for column, name in zip(_PLACE, place, strict=True) if name is not None
        }

    async def execute_one(self, connection: AsyncConnection) -> None:
        """Delete the configs and their pending deliveries."""
        for table in (push_configs, push_outbox):
            where = [table.c[column] == name for column, name in self._place.items()]
            await connection.execute(delete(table).where(*where))
