"""What is known of a conversation: its state, and the question that waits for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from a2a_adapters_autogen.serving.states import StateKey, StateStore

State = Mapping[str, Any]
"""What `save_state` returns, as JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A handoff to the user that ended a run, or the turn of a user proxy that was left.

    Attributes:
        task_id: The task that waits.
        asker: The agent that gets the answer.
        addressee: Whom the agent asked.
        prompt: What the caller was asked in the turn of a user proxy; "" for a handoff.
        state: Where the run goes on.
        usage: The tokens used so far, input and output.
    """

    task_id: str
    asker: str
    addressee: str
    state: State
    usage: tuple[int, int]
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Remembered:
    """One conversation. `state` is None before its first run has ended."""

    state: State | None = None
    question: Question | None = None


class Memory:
    """All conversations, in a store.

    A question is kept beside the state from before its task, so that giving it up, like a run
    that fails or is cancelled, leaves the conversation as it was.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store

    async def recall(self, key: StateKey) -> Remembered:
        """Return what is known of a conversation."""
        value: Mapping[str, Any] = await self._store.load(key) or {}
        question = value.get("question")
        return Remembered(value.get("state"), Question(**question) if question else None)

    async def keep(self, key: StateKey, state: State | None) -> None:
        """Replace the state, and drop the question."""
        if state is None:
            await self._store.delete(key)
        else:
            await self._store.save(key, {"state": state})

    async def ask(self, key: StateKey, question: Question) -> None:
        """Keep a question beside the state."""
        before = await self.recall(key)
        await self._store.save(key, {"state": before.state, "question": asdict(question)})
