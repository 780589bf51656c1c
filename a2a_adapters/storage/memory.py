"""The engine that forgets: everything in this process, bounded."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from a2a.server.cluster.version import TaskVersion

from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.storage.interface import (
    REPLY,
    AgentStorage,
    State,
    Storage,
    Undelivered,
    UsedMessage,
)
from a2a_adapters.storage.memory_push import MemoryPushStore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from a2a.server.tasks import TaskStore
    from a2a.types import Task, TaskPushNotificationConfig

    from a2a_adapters.contract.limits import Limits


class MemoryStorage(Storage):
    """Everything in this process.

    Args:
        limits: How much of it.
        make_tasks: Makes the task store of an agent.
    """

    is_durable = False

    def __init__(self, limits: Limits, make_tasks: Callable[[], TaskStore]) -> None:
        self._limits = limits
        self._make_tasks = make_tasks
        self._agents: dict[str, MemoryAgentStorage] = {}

    async def start(self) -> None:
        """There is nothing to connect to."""

    def of(self, agent: str) -> MemoryAgentStorage:
        """Return what one agent stores."""
        if agent not in self._agents:
            self._agents[agent] = MemoryAgentStorage(self._limits, self._make_tasks(), agent)
        return self._agents[agent]

    def on_trouble(self, listener: Callable[[], None]) -> None:
        """There is none."""

    async def aclose(self, seconds: float) -> None:
        """There is nothing to write."""


class MemoryAgentStorage(AgentStorage):
    """One agent's part of the memory.

    Args:
        limits: How much it keeps.
        tasks: Its tasks.
        agent: The agent's name.
    """

    push_configs: MemoryPushStore
    url = "memory:"
    is_durable = False

    def __init__(self, limits: Limits, tasks: TaskStore, agent: str = "") -> None:
        self.tasks = tasks
        self.agent = agent
        self.push_configs = MemoryPushStore(limits.finished_tasks)
        kept = limits.runs + limits.waiting_tasks + limits.finished_tasks
        self._messages: BoundedMap[bytes, bytes] = BoundedMap(kept, limits.finished_seconds)
        self._states: BoundedMap[bytes, bytes] = BoundedMap(
            limits.conversations, limits.history_seconds
        )

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
        name = _name(owner, message_id)
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
            self._messages.pop(_name(owner, message_id))
        else:
            self._states[_name(owner, message_id, REPLY)] = reply

    async def reply_to(self, owner: str, message_id: str) -> bytes | None:
        """Return the reply that `retract` was given, None if there was none."""
        return await self.read_state(owner, message_id, REPLY)

    async def undelivered(self) -> Sequence[Undelivered]:
        """Return nothing: what a process had to deliver is gone with it."""
        return ()

    async def delivered(self, item: Undelivered) -> bool:  # noqa: ARG002
        """Forget nothing: there are no other processes."""
        return True

    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return what was last stored for a conversation under this name."""
        return self._states.get(_name(owner, context_id, kind))

    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store something for a conversation; None forgets it."""
        if body is None:
            self._states.pop(_name(owner, context_id, kind))
        else:
            self._states[_name(owner, context_id, kind)] = body

    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Store something in the place of what was read, unless that has changed meanwhile."""
        name = _name(owner, context_id, kind)
        if self._states.get(name) not in (expected, body):
            return False
        self._states[name] = body
        return True

    async def prune(self, before: float, most: int) -> int:  # noqa: ARG002 - it forgets by itself
        """Do nothing: the memory is bounded as it is."""
        return 0


def _name(*texts: str) -> bytes:
    """Return a short key for texts of any length, which are a caller's."""
    return hashlib.sha256(repr(texts).encode()).digest()
