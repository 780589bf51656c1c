"""Stores conversations: their snapshots and open questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from strands.types.session import decode_bytes_values, encode_bytes_values

from a2a_adapters import ConversationState

if TYPE_CHECKING:
    from a2a_adapters import JSON, AgentRequest, StateStorage


@dataclass(frozen=True, slots=True)
class Paused:
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        snapshot: The agent's state at the current point of the run.
        interrupts: The interrupts: `id`, `name` and `reason`.
        answers: The answers so far, by the id of the interrupt.
    """

    task_id: str
    snapshot: Mapping[str, Any]
    interrupts: Sequence[Mapping[str, Any]]
    answers: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def waiting(self) -> list[Mapping[str, Any]]:
        """The interrupts without an answer."""
        return [each for each in self.interrupts if each["id"] not in self.answers]

    @property
    def tools(self) -> dict[str, str]:
        """The names of the tools that were called last, by the id of the call."""
        content = self.snapshot["data"]["messages"][-1]["content"]
        calls = [block["toolUse"] for block in content if "toolUse" in block]
        return {call["toolUseId"]: call["name"] for call in calls}

    def with_answers(self, answers: Mapping[str, JSON]) -> Paused:
        """Return a copy with further answers."""
        return replace(self, answers={**self.answers, **answers})


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stored data of a conversation.

    Attributes:
        snapshot: The agent's state after the last completed run; None before it.
        paused: The run that waits.
    """

    snapshot: Mapping[str, Any] | None = None
    paused: Paused | None = None

    def settled(self) -> Remembered:
        """Return a copy without its waiting run."""
        return Remembered(self.snapshot)


class Conversation:
    """One conversation. A write fails if another process has changed it since it was read."""

    def __init__(self, state: ConversationState) -> None:
        self._state = state
        self.known = _decoded(state.body) if state.body else Remembered()

    async def claim(self) -> None:
        """Invalidate all earlier reads, so that their writes fail.

        Raises:
            ResumeError: Another process has changed it.
        """
        await self._state.write(self._state.body)

    async def keep(self, known: Remembered) -> None:
        """Store new data.

        Raises:
            InvalidInputError: The data is over 32 MiB. The caller receives the text.
            ResumeError: Another process has changed it.
        """
        await self._state.write(json.dumps(encode_bytes_values(asdict(known))).encode())
        self.known = known


async def recall(storage: StateStorage, request: AgentRequest) -> Conversation:
    """Return the conversation of a request."""
    return Conversation(await ConversationState.read(storage, request, "strands"))


def _decoded(body: bytes) -> Remembered:
    stored = decode_bytes_values(json.loads(body))
    paused = stored["paused"]
    return Remembered(stored["snapshot"], Paused(**paused) if paused else None)
