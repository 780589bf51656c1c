"""What is known of a conversation: its state, and the question that waits for an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic_core import from_json, to_json
from typing_extensions import override

from a2a_adapters import JSON, InvalidInputError, Limits
from a2a_adapters.concurrency import BoundedMap

if TYPE_CHECKING:
    from a2a_adapters import StateStorage


_MAX_BYTES = 256 * 2**20
_MAX_STORED_BYTES = 32 * 2**20
_KIND = "autogen"
_TOO_LONG = "this conversation has become too long; start a new one"


class StateKey(NamedTuple):
    """One caller's conversation. Two owners using one context id have two of them."""

    owner: str
    context_id: str


class StateStore(ABC):
    """Keeps one JSON object for every conversation. Calls with one key come one at a time."""

    @abstractmethod
    async def load(self, key: StateKey) -> Mapping[str, JSON] | None:
        """Return what was saved last; None if there is nothing."""

    @abstractmethod
    async def save(self, key: StateKey, value: Mapping[str, Any]) -> None:
        """Replace what is kept under a key.

        Raises:
            InvalidInputError: The conversation cannot go on; the text is told to the caller.
            ValueError: `value` cannot be expressed as JSON.
        """

    @abstractmethod
    async def delete(self, key: StateKey) -> None:
        """Forget a conversation; not an error if there is none."""


class MemoryStateStore(StateStore):
    """Keeps states in this process, as JSON, and forgets those used least recently.

    Args:
        limits: `conversations` and `history_seconds` bound how many are kept, and how long.
        max_bytes: How large all states together may become; one that is larger is refused.
    """

    def __init__(self, limits: Limits | None = None, max_bytes: int = _MAX_BYTES) -> None:
        limits = limits or Limits()
        self._max_bytes = max_bytes
        self._saved: BoundedMap[StateKey, bytes] = BoundedMap(
            limits.conversations, limits.history_seconds, max_bytes, len
        )

    @override
    async def load(self, key: StateKey) -> Mapping[str, JSON] | None:
        if (encoded := self._saved.get(key)) is None:
            return None
        return cast("Mapping[str, JSON]", from_json(encoded))

    @override
    async def save(self, key: StateKey, value: Mapping[str, Any]) -> None:
        encoded = to_json(value)
        if len(encoded) > self._max_bytes:
            raise InvalidInputError(_TOO_LONG)
        self._saved[key] = encoded

    @override
    async def delete(self, key: StateKey) -> None:
        self._saved.pop(key)


class ServerStateStore(StateStore):
    """Keeps states of up to 32 MiB, as JSON, where the server keeps everything else."""

    def __init__(self, storage: StateStorage) -> None:
        self._storage = storage

    @override
    async def load(self, key: StateKey) -> Mapping[str, JSON] | None:
        encoded = await self._storage.read_state(*key, _KIND)
        return None if encoded is None else cast("Mapping[str, JSON]", from_json(encoded))

    @override
    async def save(self, key: StateKey, value: Mapping[str, Any]) -> None:
        encoded = to_json(value)
        if len(encoded) > _MAX_STORED_BYTES:
            raise InvalidInputError(_TOO_LONG)
        await self._storage.write_state(*key, _KIND, encoded)

    @override
    async def delete(self, key: StateKey) -> None:
        await self._storage.write_state(*key, _KIND, None)


State = Mapping[str, Any]
"""What `save_state` returns, as JSON."""


@dataclass(frozen=True, slots=True)
class Question:
    """A handoff to the user that ended a run, or the turn of a user proxy that was left.

    Attributes:
        task_id: The task that waits.
        asker: The agent that gets the answer.
        addressee: Whom the agent asked.
        state: Where the run goes on.
        usage: The tokens used so far, input and output.
        prompt: What the caller was asked in the turn of a user proxy; "" for a handoff.
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
