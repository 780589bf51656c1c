"""Writes of messages: accepted ones with their tasks, and those taken back."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, tuple_, update

from a2a_adapters.protocol.card import DEDUPLICATION_SECONDS
from a2a_adapters.protocol.errors import ConversationElsewhereError
from a2a_adapters.storage.interface import UsedMessage
from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.schema import is_task, key, messages, tasks, upsert
from a2a_adapters_sql.state_rows import SaveState
from a2a_adapters_sql.task_rows import HANDED_OVER, DeleteTask, SaveTask
from a2a_adapters_sql.turns import Joining

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Row
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.ext.asyncio import AsyncConnection

_REMEMBERED_NANOSECONDS = DEDUPLICATION_SECONDS * 10**9


class AcceptMessage(Write):
    """Stores a message's task and the message id, unless the id was used before.

    Args:
        agent: Name of the agent.
        owner: Sender of the message.
        message_id: Id of the message.
        digest: Digest of its content.
        task: Write of the task.
        joining: The task's context, if another process may run tasks of it.
    """

    order = -1
    """First, so that waiting for the same message in another process holds no other locks."""

    def __init__(
        self,
        agent: str,
        owner: str,
        message_id: str,
        digest: bytes,
        task: SaveTask,
        joining: Joining | None = None,
    ) -> None:
        self.key = ("message", key(agent), key(owner), key(message_id))
        self._place = (agent, owner, message_id)
        self.task = task
        self.joining = joining
        self.locks = (joining.lock,) if joining else ()
        self.size = task.size
        self.row = {
            "agent": agent,
            "owner": owner,
            "id": message_id,
            "task": task.task_id,
            "digest": digest,
            "accepted": time.time_ns(),
            "acknowledged": False,
        }

    @classmethod
    def rows(cls, dialect: str, writes: Sequence[AcceptMessage]) -> Sequence[Rows] | None:
        """Return the rows of the messages and their tasks."""
        of_tasks = SaveTask.rows(dialect, [write.task for write in writes])
        if of_tasks is None:
            return None
        joining = Joining.rows([write.joining for write in writes if write.joining])
        accepted = Rows(_insert_messages(dialect), [write.row for write in writes])
        return [*joining, accepted, *of_tasks]

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[AcceptMessage]
    ) -> Sequence[object]:
        """Write them with two statements, except those whose context runs elsewhere."""
        elsewhere = await _elsewhere(connection, writes)
        here = [write for write in writes if write.key not in elsewhere]
        used: dict[tuple[str, ...], Row[Any]] = {}
        insert = _insert_messages(connection.dialect.name)
        rows = [write.row for write in here]
        if rows and (await connection.execute(insert, rows)).rowcount != len(rows):
            used = _others(await _known(connection, here), here)
        fresh = [write for write in here if write.key not in used]
        if fresh:
            await SaveTask.execute(connection, [write.task for write in fresh])
        earlier: dict[tuple[str, ...], object] = {
            key: UsedMessage(row.task, row.digest) for key, row in used.items()
        }
        return [(elsewhere | earlier).get(write.key) for write in writes]

    def undo(self) -> Write:
        """Return the write that deletes the message and its task."""
        return ForgetMessage(*self._place, self.task.task_id)


@cache
def _insert_messages(dialect: str) -> sqlite.Insert:
    insert = upsert(dialect, messages)
    new = insert.excluded
    place = [messages.c.agent, messages.c.owner, messages.c.id]
    statement = insert.on_conflict_do_update(
        index_elements=place,
        set_={
            "task": new.task,
            "digest": new.digest,
            "accepted": new.accepted,
            "acknowledged": new.acknowledged,
        },
        where=messages.c.accepted < new.accepted - _REMEMBERED_NANOSECONDS,
    )
    return statement.execution_options(preserve_rowcount=True)


async def _elsewhere(
    connection: AsyncConnection, writes: Sequence[AcceptMessage]
) -> dict[tuple[str, ...], object]:
    """Return the results of new messages whose context runs in another process."""
    joining = {write.key: write.joining for write in writes if write.joining}
    runners = {key: await one.runner(connection) for key, one in joining.items()}
    going = [write for write in writes if runners.get(write.key) is not None]
    known = await _known(connection, going) if going else {}
    return {
        write.key: ConversationElsewhereError(runners[write.key] or "")
        for write in going
        if write.key not in known
    }


async def _known(
    connection: AsyncConnection, writes: Sequence[AcceptMessage]
) -> dict[tuple[str, ...], Row[Any]]:
    """Return the messages that were accepted before."""
    names = ("agent", "owner", "id")
    wanted = [tuple(write.row[name] for name in names) for write in writes]
    place = tuple_(*(messages.c[name] for name in names))
    found = await connection.execute(select(messages).where(place.in_(wanted)))
    return {("message", row.agent, row.owner, row.id): row for row in found}


def _others(
    rows: dict[tuple[str, ...], Row[Any]], writes: Sequence[AcceptMessage]
) -> dict[tuple[str, ...], Row[Any]]:
    """Return the messages that started another task before."""
    return {w.key: rows[w.key] for w in writes if rows[w.key].task != w.task.task_id}


class AcknowledgeMessage(Write):
    """Records that a caller learns of the task that a message began, so that the task must stay.

    Args:
        agent: Name of the agent.
        owner: Sender of the message.
        message_id: Id of the message.
        task_id: The task.
    """

    def __init__(self, agent: str, owner: str, message_id: str, task_id: str) -> None:
        self.key = ("message", key(agent), key(owner), key(message_id))
        self._mine = _begins(agent, owner, message_id, task_id)
        self._task = is_task(agent, owner, task_id)

    async def execute_one(self, connection: AsyncConnection) -> bool:
        """Record it, and return whether the task still exists."""
        noted = update(messages).where(*self._mine).values(acknowledged=True)
        if (await connection.execute(noted)).rowcount:
            return True
        found = await connection.execute(select(tasks.c.id).where(*self._task))
        return found.first() is not None


class ForgetMessage(Write):
    """Deletes an accepted message that was reported as failed, or that created no task.

    If a caller has learned of the task meanwhile, through another process, the task stays instead,
    and any process may resume or end it.

    Args:
        agent: Name of the agent.
        owner: Sender of the message.
        message_id: Id of the message.
        task_id: The task reserved for it.
        is_answered: Whether to keep the message id, because it was answered without a task.
        states: State to store with it.
    """

    order = 3

    def __init__(
        self,
        agent: str,
        owner: str,
        message_id: str,
        task_id: str,
        *,
        is_answered: bool = False,
        states: Sequence[SaveState] = (),
    ) -> None:
        self.key = ("message", key(agent), key(owner), key(message_id))
        self.task = DeleteTask(agent, owner, task_id)
        self._mine = _begins(agent, owner, message_id, task_id)
        self._released = update(tasks).where(
            *is_task(agent, owner, task_id), ~tasks.c.process.startswith(HANDED_OVER)
        )
        self.is_answered = is_answered
        self.states = states
        self.size = sum(state.size for state in states)

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[ForgetMessage]
    ) -> Sequence[object]:
        """Delete the messages and their tasks, and store the states."""
        gone = [write for write in writes if await write.forget(connection)]
        await SaveState.execute(connection, [state for write in writes for state in write.states])
        await DeleteTask.execute(connection, [write.task for write in gone])
        return [None] * len(writes)

    async def forget(self, connection: AsyncConnection) -> bool:
        """Delete the message; return whether its task is to be deleted, too."""
        if self.is_answered:
            return True
        await connection.execute(delete(messages).where(*self._mine, ~messages.c.acknowledged))
        found = await connection.execute(select(messages.c.id).where(*self._mine))
        if found.first() is None:
            return True
        await connection.execute(self._released.values(process=HANDED_OVER + tasks.c.process))
        return False


def _begins(agent: str, owner: str, message_id: str, task_id: str) -> list[ColumnElement[bool]]:
    """Return the conditions for the message that began a task."""
    return [
        messages.c.agent == agent,
        messages.c.owner == owner,
        messages.c.id == message_id,
        messages.c.task == task_id,
    ]
