"""One message on its way through an adapter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator

    from a2a_adapters.concurrency.outliving import TaskCalls
    from a2a_adapters.contract.adapter import AgentRequest
    from a2a_adapters.contract.events import AgentEvent
    from a2a_adapters.executor.conversations import ConversationTurn
    from a2a_adapters.executor.interrupted import CutOff
    from a2a_adapters.executor.queue import TextQueue
    from a2a_adapters.executor.writer import TaskWriter

AdapterEvents: TypeAlias = "AsyncGenerator[AgentEvent, AgentRequest | None]"
"""What `Adapter.stream` returns."""


@dataclass(slots=True)
class Run:
    """One execution: a message being answered."""

    request: AgentRequest
    writer: TaskWriter
    calls: TaskCalls
    queue: TextQueue | None
    task: asyncio.Task[object] | None
    number: int = 0
    """Which of its task's messages it answers."""
    turn: ConversationTurn | None = None
    """Its conversation, while it has that for itself, and its slot."""
    events: AdapterEvents | None = None
    cut_off: CutOff | None = None
    """What a process that is gone has left of it."""
    is_too_late: bool = False
    """Whether it answers a question to which no answer can be taken any more."""
    is_anybodys: bool = False
    """Whether it answers a question whose answer any process can take, and go on with."""
    answers_parked: bool = False
    announced: bool = False
    is_awaited_at_once: bool = False
    """Whether the caller wants the task as soon as there is one (`returnImmediately`)."""
    parked: bool = False
    has_failed: bool = False
    """Whether its task has, though the agent may not have noticed."""
    outlives: bool = False
    """Whether the agent was stopped and goes on."""

    async def take(self, slots: asyncio.Semaphore) -> None:
        """Wait for a slot, once its conversation is its own."""
        assert self.turn is not None  # noqa: S101 - it is its turn
        if self.queue is not None and self.is_anybodys and slots.locked():
            await self.writer.submitted()  # so that at no process others go ahead of it
        await self.turn.take(slots)

    def leave(self) -> None:
        """Tell its code to end, and to write nothing more: the conversation is another's now."""
        self.request.cancelled.set()
        self.request.cancelled.left_behind = True
