"""Stores conversations: their sessions and open questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from a2a_adapters import ConversationState

if TYPE_CHECKING:
    from a2a_adapters import AgentRequest, StateStorage


@dataclass(frozen=True, slots=True)
class Paused:
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        session: The session at the current point of the run.
        requests: The requests for approval, as JSON.
        answers: The answers so far, by the id of the request: true, false, or the reason why not.
    """

    task_id: str
    session: Mapping[str, Any]
    requests: Sequence[Mapping[str, Any]]
    answers: Mapping[str, bool | str] = field(default_factory=dict)

    @property
    def waiting(self) -> list[Mapping[str, Any]]:
        """The requests without an answer."""
        return [each for each in self.requests if each["id"] not in self.answers]

    def with_answers(self, answers: Mapping[str, bool | str]) -> Paused:
        """Return a copy with further answers."""
        return replace(self, answers={**self.answers, **answers})


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stored data of a conversation.

    Attributes:
        session: The session after the last completed run; None before it.
        paused: The run that waits.
    """

    session: Mapping[str, Any] | None = None
    paused: Paused | None = None

    def settled(self) -> Remembered:
        """Return a copy without its waiting run."""
        return Remembered(self.session)


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
        await self._state.write(json.dumps(asdict(known)).encode())
        self.known = known


async def recall(storage: StateStorage, request: AgentRequest) -> Conversation:
    """Return the conversation of a request."""
    return Conversation(await ConversationState.read(storage, request, "agent-framework"))


def _decoded(body: bytes) -> Remembered:
    stored = json.loads(body)
    paused = stored["paused"]
    return Remembered(stored["session"], Paused(**paused) if paused else None)
