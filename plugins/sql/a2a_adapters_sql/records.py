"""Writes other than tasks: accepted messages, recovery attempts, takeovers."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import and_, case, delete, func, literal, select, tuple_, update

from a2a_adapters.protocol.card import DEDUPLICATION_SECONDS
from a2a_adapters.protocol.errors import ConversationElsewhereError
from a2a_adapters.storage.interface import UsedMessage
from a2a_adapters_sql.bulk import Rows
from a2a_adapters_sql.commit import Write
from a2a_adapters_sql.lease import living
from a2a_adapters_sql.schema import is_task, key, messages, processes, tasks, upsert
from a2a_adapters_sql.state_rows import SaveState
from a2a_adapters_sql.task_rows import ANY_PROCESS, HANDED_OVER, DeleteTask, SaveTask, stored
from a2a_adapters_sql.turns import Joining, is_running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.cluster.task_store import StoredTask
    from sqlalchemy import CTE, ColumnElement, FromClause, Row, ScalarSelect
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.ext.asyncio import AsyncConnection


class LeftTask(NamedTuple):
    """An unfinished task of a dead process."""

    owner: str
    stored: StoredTask
    takeovers: int = 0
    """Number of processes that died while running it."""
    attempts: int = 0
    """Number of these that had resumed it; see `CountAttempt`."""
    process: str = ""
    """The name of its last process, if that is known."""


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
        set_={"task": new.task, "digest": new.digest, "accepted": new.accepted},
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


class ForgetMessage(Write):
    """Deletes an accepted message that was reported as failed, or that created no task.

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
        self.mine = [
            messages.c.agent == agent,
            messages.c.owner == owner,
            messages.c.id == message_id,
            messages.c.task == task_id,
        ]
        self.is_answered = is_answered
        self.states = states
        self.size = sum(state.size for state in states)

    @classmethod
    async def execute(
        cls, connection: AsyncConnection, writes: Sequence[ForgetMessage]
    ) -> Sequence[object]:
        """Delete the messages and their tasks, and store the states."""
        for write in writes:
            if not write.is_answered:
                await connection.execute(delete(messages).where(*write.mine))
        await SaveState.execute(connection, [state for write in writes for state in write.states])
        return await DeleteTask.execute(connection, [write.task for write in writes])


ATTEMPT = 100
"""Increment of a task's `epoch` per attempt; a takeover adds one."""


class CountAttempt(Write):
    """Counts an attempt to resume an orphaned task."""

    def __init__(self, agent: str, owner: str, task_id: str) -> None:
        self.key = ("attempt", key(agent), key(owner), key(task_id))
        self._place = (agent, owner, task_id)

    async def execute_one(self, connection: AsyncConnection) -> None:
        """Count the attempt."""
        counted = update(tasks).where(*is_task(*self._place))
        await connection.execute(counted.values(epoch=tasks.c.epoch + ATTEMPT))


class TakeOver(Write):
    """Takes over the tasks of dead processes.

    Args:
        agent: Name of the agent.
        process_id: This process.
        lease_seconds: The lease period; None if there are no other processes.
    """

    def __init__(self, agent: str, process_id: str, lease_seconds: float | None) -> None:
        self.key = ("takeover", agent)
        self._agent = agent
        self._process_id = process_id
        self._lease_seconds = lease_seconds
        self._taken: dict[bytes, LeftTask] = {}
        """Same for all attempts: a commit with a lost response has already taken the tasks."""

    async def execute_one(self, connection: AsyncConnection) -> list[LeftTask]:
        """Take over one agent's tasks."""
        found = await connection.execute(
            select(_HOLDERS.c.process).where(
                _HOLDERS.c.process.is_not(None), self._is_gone(connection, _HOLDERS)
            )
        )
        dead = [row.process for row in found]
        if not dead:
            return list(self._taken.values())
        # A suspended process may have resumed.
        still = self._is_gone(connection, tasks)
        is_orphaned = [tasks.c.agent == self._agent, tasks.c.process.in_(dead), still]
        if self._lease_seconds is not None:
            is_orphaned.append(~_more_comes(connection.dialect.name, self._lease_seconds))
        names = await _names(connection, is_orphaned)
        is_handed_over = tasks.c.process.startswith(HANDED_OVER)
        taken_back = case((tasks.c.epoch >= ATTEMPT, -ATTEMPT), else_=0)
        statement = (
            update(tasks)
            .where(*is_orphaned)
            .values(
                process=self._process_id,
                epoch=tasks.c.epoch + case((is_handed_over, taken_back), else_=1),
                previous=tasks.c.version,
                version=tasks.c.version + 1,
            )
            .returning(tasks.c.version, tasks.c.body, tasks.c.owner_name, tasks.c.epoch)
        )
        rows = await connection.execute(statement)
        for row in rows:
            attempts, takeovers = divmod(row.epoch, ATTEMPT)
            left = LeftTask(row.owner_name.decode(), stored(row), takeovers, attempts)
            place = row.owner_name + b"\0" + left.stored.task.id.encode()
            self._taken[place] = left._replace(process=names.get(key(left.stored.task.id), ""))
        return list(self._taken.values())

    def _is_gone(self, connection: AsyncConnection, held: FromClause) -> ColumnElement[bool]:
        """Return the condition that a process is dead and not this one."""
        others = held.c.process != self._process_id
        if self._lease_seconds is None:
            return others
        alive = living(connection.dialect.name, self._lease_seconds)
        return and_(others, held.c.process.not_in(alive))


def _next(process: ColumnElement[str]) -> ScalarSelect[str]:
    return select(func.min(tasks.c.process)).where(tasks.c.process > process).scalar_subquery()


def _holders() -> CTE:
    """Return the processes with tasks, using one index lookup per process.

    There may be a million open tasks but only a thousand processes.
    """
    first = select(_next(literal(ANY_PROCESS)).label("process")).cte("holders", recursive=True)
    return first.union_all(select(_next(first.c.process)).where(first.c.process.is_not(None)))


_HOLDERS = _holders()


def _more_comes(dialect: str, lease_seconds: float) -> ColumnElement[bool]:
    """Return the condition that a process is still handing over tasks of the same context.

    All tasks of a context must be taken together, or two processes would run it.
    """
    others = tasks.alias()
    names = ("context", "agent", "owner")
    same = (others.c[name] == tasks.c[name] for name in names)
    hands_over = HANDED_OVER + others.c.process == tasks.c.process
    is_alive = others.c.process.in_(living(dialect, lease_seconds))
    more = select(others.c.id).where(*same, hands_over, is_running(others.c.state), is_alive)
    return more.correlate(tasks).exists()


async def _names(
    connection: AsyncConnection, which: Sequence[ColumnElement[bool]]
) -> dict[str, str]:
    """Return the names of the processes that ran given tasks, by task id."""
    its = tasks.c.process.in_([processes.c.id, HANDED_OVER + processes.c.id])
    query = select(tasks.c.id, processes.c.name).join(processes, its).where(*which)
    return {row.id: row.name for row in await connection.execute(query)}
