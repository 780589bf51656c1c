"""The storage on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from a2a.server.cluster.version import TaskVersion
from sqlalchemy import select

from a2a_adapters.concurrency.background import let_fail
from a2a_adapters.contract.adapter import ELSEWHERE
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime import Runtime
from a2a_adapters.runtime.handler import RecoverableStorage
from a2a_adapters.storage.interface import (
    PATIENCE_SECONDS,
    REPLY,
    State,
    Storage,
    Undelivered,
    UsedMessage,
)
from a2a_adapters_sql.alarm import fair_timeout
from a2a_adapters_sql.database import Database
from a2a_adapters_sql.deliveries import Delivered, TakeDeliveries
from a2a_adapters_sql.lease import LEASE_SECONDS
from a2a_adapters_sql.messages import AcceptMessage, AcknowledgeMessage, ForgetMessage
from a2a_adapters_sql.push import SaveConfig, SqlPushStore
from a2a_adapters_sql.recovery import OrphanRecovery
from a2a_adapters_sql.replicas.locations import Directory
from a2a_adapters_sql.replicas.replica import Replica
from a2a_adapters_sql.retention import names_elsewhere, prune_agent
from a2a_adapters_sql.schema import states
from a2a_adapters_sql.state_rows import SaveState, SwapState
from a2a_adapters_sql.takeover import CountAttempt, LeftTask, TakeOver
from a2a_adapters_sql.tasks import SqlTaskStore
from a2a_adapters_sql.turns import Joining

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from a2a.server.request_handlers import RequestHandler
    from a2a.types import Task, TaskPushNotificationConfig

    from a2a_adapters.storage.interface import SharedQuota
    from a2a_adapters_sql.commit import Write


class SqlStorage(Storage):
    """Stores everything in one database.

    Args:
        url: Its URL, such as `sqlite:///agents.db` or `postgresql://host/name`.
        lease_seconds: Time in seconds until an unrenewed lease expires.
        bus: URL of a Redis that carries the bus; None uses the database.

    Raises:
        ConfigurationError: A URL is invalid.
        MissingExtraError: A driver is not installed.
    """

    is_durable = True

    def __init__(
        self, url: str, lease_seconds: float = LEASE_SECONDS, bus: str | None = None
    ) -> None:
        self.database = Database(url, lease_seconds, bus)
        self.figures = self.database.figures
        self._url = url

    @property
    def away(self) -> str:  # type: ignore[override]
        """The unavailable part."""
        return self.database.away

    async def start(self) -> None:
        """Connect and migrate the tables."""
        await self.database.start()

    def of(self, agent: str) -> SqlAgentStorage:
        """Return the storage of one agent."""
        return SqlAgentStorage(self.database, agent, self._url)

    def on_trouble(self, listener: Callable[[], None]) -> None:
        """Call `listener` on an outage."""
        self.database.health.listen(listener)

    async def aclose(self, seconds: float) -> None:
        """Finish pending writes, at most `seconds`, and disconnect."""
        await self.database.aclose(seconds)


class SqlAgentStorage(RecoverableStorage):
    """The storage of one agent.

    Args:
        database: Holds the rows.
        agent: The agent's name.
        url: URL of the database.
    """

    tasks: SqlTaskStore
    is_durable = True

    def __init__(self, database: Database, agent: str, url: str) -> None:
        self._database = database
        self._agent = self.agent = agent
        self.url = url
        self.tasks = SqlTaskStore(database, agent)
        self.push_configs = SqlPushStore(database, agent)
        self._elsewhere: dict[str, Callable[[str], Awaitable[None]]] = {}
        self.is_shared = database.is_shared
        seconds = database.lease.seconds if database.is_shared else None
        place = agent, database.process_id, seconds
        self._take_over = DetachedWrite(database, partial(TakeOver, *place))
        self._take_deliveries = DetachedWrite(database, partial(TakeDeliveries, *place))

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
        """Store a message's task, unless the message started one before."""
        save = self.tasks.write_of(task, owner, TaskVersion.MISSING)
        if config is not None:
            save.configs = [SaveConfig((self._agent, task.id, owner, config.id), config)]
        joining = Joining(save.row) if joins and self._database.is_shared else None
        name = message_id or task.id
        accept = AcceptMessage(self._agent, owner, name, digest, save, joining)
        used: UsedMessage | None = await self._database.write(accept, PATIENCE_SECONDS)
        return used or save.version

    async def retract(
        self,
        owner: str,
        message_id: str,
        task_id: str,
        reply: bytes | None = None,
        kept: Collection[State] = (),
    ) -> None:
        """Delete the reserved task of a message, and the message itself if it was not answered."""
        replies = [] if reply is None else [State(owner, message_id, REPLY, reply)]
        forget = ForgetMessage(
            self._agent,
            owner,
            message_id or task_id,
            task_id,
            is_answered=reply is not None,
            states=[SaveState(self._agent, *state) for state in (*replies, *kept)],
        )
        await self._database.write(forget, PATIENCE_SECONDS)

    async def acknowledge(self, owner: str, message_id: str, task_id: str) -> bool:
        """Keep the task of a message, because a caller learns of it."""
        write = AcknowledgeMessage(self._agent, owner, message_id, task_id)
        is_there: bool = await self._database.write(write, PATIENCE_SECONDS)
        return is_there

    async def reply_to(self, owner: str, message_id: str) -> bytes | None:
        """Return the reply passed to `retract`, None if there was none."""
        return await self.read_state(owner, message_id, REPLY)

    async def left_behind(self) -> Sequence[LeftTask]:
        """Take over and return the unfinished tasks of dead processes, and released tasks.

        They include tasks that wait for an answer only the dead process could take.
        """
        found: Sequence[LeftTask] = await self._take_over.result()
        return found

    async def count_attempt(self, owner: str, task_id: str) -> None:
        """Count an attempt to resume an orphaned task."""
        await self._database.write(CountAttempt(self._agent, owner, task_id))

    @property
    def has_left_behind(self) -> bool:
        """Whether tasks may have been taken over that `left_behind` has not returned."""
        return self._take_over.is_unread

    def is_unbroken(self, since: float) -> bool:
        """Return whether the lease has been held since a time of `time.monotonic`."""
        return not self.is_shared or self._database.lease.is_unbroken(since)

    def share(self, quota: SharedQuota, what: str = "") -> None:
        """Share quota usage with other processes at each renewal of the lease."""
        if self._database.is_shared:
            name = f"{self._agent}\0{what}" if what else self._agent
            self._database.lease.quotas.share(name, quota)

    def recovery(self, runtime: Runtime) -> OrphanRecovery:
        """Return the recovery of dead processes' tasks."""
        return OrphanRecovery(self, runtime)

    def replicate(self, runtime: RequestHandler) -> RequestHandler:
        """Wrap a runtime to reach the tasks of other processes, if the database is shared."""
        bus = self._database.bus
        if bus is None or not isinstance(runtime, Runtime):
            return runtime
        return Replica(runtime, Directory(self._database, self._agent, bus))

    async def undelivered(self) -> Sequence[Undelivered]:
        """Take over and return the pending deliveries of dead processes."""
        found: Sequence[Undelivered] = await self._take_deliveries.result()
        return found

    async def delivered(self, item: Undelivered) -> bool:
        """Delete a pending delivery that was delivered or given up."""
        write = Delivered(self._agent, item, self._database.process_id)
        return not await self._database.write(write)

    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return the stored state of a context."""
        place = {"agent": self._agent, "owner": owner, "context": context_id, "kind": kind}
        where = [states.c[name] == value for name, value in place.items()]
        rows = await self._database.read(select(states.c.body).where(*where))
        return rows[0].body if rows else None

    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store state of a context; None deletes it."""
        await self._database.write(SaveState(self._agent, owner, context_id, kind, body))

    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Replace state of a context unless it has changed."""
        swap = SwapState(self._agent, owner, context_id, kind, body, expected)
        is_stored: bool = await self._database.write(swap)
        return is_stored

    def forget_elsewhere(self, kind: str, forget: Callable[[str], Awaitable[None]]) -> None:
        """Call `forget` with names of external data whose contexts have expired."""
        self._elsewhere[ELSEWHERE + kind] = forget

    async def prune(self, before: float, most: int) -> int:
        """Delete old data; return the number of deleted tasks."""
        old, kinds = int(before * 1e9), tuple(self._elsewhere)
        for kind, forget in self._elsewhere.items():
            for name in await names_elsewhere(self._database, self._agent, kind, old):
                await forget(name)
        return await prune_agent(self._database, self._agent, old, most, kinds)


class DetachedWrite:
    """Continues without waiters; the next caller gets the result.

    This prevents the process from owning tasks without knowing it.

    Args:
        database: Executes the write.
        make: Creates the write.
    """

    def __init__(self, database: Database, make: Callable[[], Write]) -> None:
        self._database = database
        self._make = make
        self._writing: asyncio.Task[Any] | None = None

    @property
    def is_unread(self) -> bool:
        """Whether the write is done but its result was not read."""
        return self._writing is not None and self._writing.done()

    async def result(self) -> Any:
        """Start the write unless it is running, and return the result.

        Raises:
            StorageUnavailableError: The write is not done in time; try again.
        """
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._database.write(self._make()))
            self._writing.add_done_callback(let_fail)
        writing = self._writing
        with suppress(TimeoutError):
            async with fair_timeout(PATIENCE_SECONDS):
                await asyncio.wait({writing})
        if not writing.done():
            self._database.health.suspect("it is too slow")
            raise StorageUnavailableError
        if self._writing is writing:  # otherwise a concurrent caller has started the next one
            self._writing = None
        return writing.result()
