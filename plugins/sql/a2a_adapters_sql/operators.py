"""Operator access to tasks of all owners, safe beside running servers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from a2a.server.context import ServerCallContext
from a2a.types import Message, Part, Role, Task, TaskState, TaskStatus
from google.protobuf.timestamp_pb2 import Timestamp
from sqlalchemy import or_, select

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.protocol import states
from a2a_adapters.protocol.messages import new_id
from a2a_adapters.protocol.owner import Owner
from a2a_adapters_sql.lease import is_alive
from a2a_adapters_sql.schema import processes, tasks
from a2a_adapters_sql.takeover import ATTEMPT
from a2a_adapters_sql.task_rows import ANY_PROCESS, HANDED_OVER, stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.cluster.task_store import StoredTask

    from a2a_adapters_sql.database import Database
    from a2a_adapters_sql.storage import SqlStorage


class KeptTask(NamedTuple):
    """A stored task."""

    agent: str
    owner: str
    stored: StoredTask
    process: str
    """Its location: the name of a process, any process, or nothing if it has ended."""
    attempts: int
    """Number of times it was resumed, excluding orderly shutdowns."""

    @property
    def task(self) -> Task:
        """The parsed task."""
        return self.stored.task


async def find_tasks(
    database: Database,
    *,
    task_id: str | None = None,
    agent: str | None = None,
    owner: str | None = None,
    state: TaskState | None = None,
    unchanged_seconds: float = 0,
    limit: int = 50,
) -> Sequence[KeptTask]:
    """Return tasks of all owners, most recently changed first.

    Args:
        database: The database; may be unstarted.
        task_id: Task id; different owners may use the same one.
        agent: Name of the agent.
        owner: Name of the caller; "" is the anonymous caller.
        state: Task state. Without a state or id, only open tasks are returned.
        unchanged_seconds: Minimum time since the last change.
        limit: Maximum number of tasks.

    Raises:
        ConfigurationError: The database is unusable.
    """
    names = {"id": task_id, "agent": agent, "owner": owner, "state": state}
    wanted = [tasks.c[name] == value for name, value in names.items() if value is not None]
    if task_id is None and state is None:
        wanted.append(tasks.c.process.is_not(None))
    if unchanged_seconds:
        wanted.append(tasks.c.changed < time.time_ns() - int(unchanged_seconds * 1e9))
    alive = is_alive(database.engine.dialect.name, database.lease.seconds).label("is_alive")
    its = or_(processes.c.id == tasks.c.process, HANDED_OVER + processes.c.id == tasks.c.process)
    query = select(tasks, processes.c.name, alive).outerjoin(processes, its).where(*wanted)
    query = query.order_by(tasks.c.changed.desc()).limit(limit)
    rows = await database.looked_at(lambda connection: connection.execute(query).all())
    return [
        KeptTask(
            row.agent,
            row.owner_name.decode(),
            stored(row),
            _place(row.process, row.name, is_living=bool(row.is_alive)),
            row.epoch // ATTEMPT,
        )
        for row in rows
    ]


def _place(process: str | None, name: str | None, *, is_living: bool) -> str:
    if process is None:
        return ""
    if process == ANY_PROCESS:
        return "any"
    if process.startswith(HANDED_OVER):
        return "handed over"
    return f"{name or process}{'' if is_living else ' (dead)'}"


async def end_task(storage: SqlStorage, kept: KeptTask, reason: str) -> Task:
    """Mark a task as failed, notify its push receivers, and return it.

    Its process notices within `Limits.sweep_seconds` and stops working on it.

    Args:
        storage: The started storage.
        kept: The task.
        reason: Shown to the caller.

    Raises:
        ConfigurationError: The task is already terminal.
        ConcurrentTaskModificationError: The task has changed; find it again.
    """
    _check_open(kept)
    text = Message(message_id=new_id(), role=Role.ROLE_AGENT, parts=[Part(text=reason)])
    text.task_id, text.context_id = kept.task.id, kept.task.context_id
    now = Timestamp()
    now.GetCurrentTime()
    task = Task()
    task.CopyFrom(kept.task)
    failed = TaskStatus(state=TaskState.TASK_STATE_FAILED, message=text, timestamp=now)
    task.status.CopyFrom(failed)
    agent = storage.of(kept.agent)
    configs = await agent.push_configs.get_info(task.id, ServerCallContext(user=Owner(kept.owner)))
    receivers = [config.id for config in configs]
    await agent.tasks.put(task, kept.owner, kept.stored.version, receivers)
    return task


async def hand_over_task(storage: SqlStorage, kept: KeptTask) -> None:
    """Release a task from its process, so that any process can resume it.

    A server resumes it at its next sweep; if the agent cannot resume, the task fails.

    Args:
        storage: The started storage.
        kept: The task.

    Raises:
        ConfigurationError: The task is terminal or waits for its caller.
        ConcurrentTaskModificationError: The task has changed; find it again.
    """
    _check_open(kept)
    if kept.process == "any":
        raise ConfigurationError(f"task {kept.task.id} waits for its caller and cannot be released")
    agent = storage.of(kept.agent)
    await agent.tasks.put(kept.task, kept.owner, kept.stored.version, is_handed_over=True)


def _check_open(kept: KeptTask) -> None:
    if kept.task.status.state in states.TERMINAL:
        raise ConfigurationError(
            f"task {kept.task.id} is in a terminal state and cannot change; "
            "the caller can resend the message with a new messageId"
        )
