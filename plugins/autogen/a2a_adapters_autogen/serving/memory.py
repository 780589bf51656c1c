"""Stores conversations: their states and open questions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic_core import from_json, to_json
from typing_extensions import override

from a2a_adapters import InvalidInputError, Limits
from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.plugin import JSON, check_arguments

if TYPE_CHECKING:
    from a2a_adapters.plugin import StateStorage


_MAX_BYTES = 256 * 2**20
_MAX_STORED_BYTES = 32 * 2**20
_KIND = "autogen"


class StateKey(NamedTuple):
    """One caller's conversation. Two owners using one context id have two of them."""

    owner: str
    context_id: str


class StateStore(ABC):
    """Keeps one JSON object for every conversation. Calls with the same key never overlap."""

    @abstractmethod
    async def load(self, key: StateKey) -> Mapping[str, JSON] | None:
        """Return the value saved last; None if there is none."""

    @abstractmethod
    async def save(self, key: StateKey, value: Mapping[str, Any]) -> None:
        """Replace the value of a key.

        Raises:
            InvalidInputError: The conversation cannot continue. The caller receives the text.
            ValueError: `value` cannot be expressed as JSON.
        """

    @abstractmethod
    async def delete(self, key: StateKey) -> None:
        """Delete a conversation, if it exists."""


class MemoryStateStore(StateStore):
    """Keeps states in this process as JSON, and evicts the least recently used.

    Args:
        limits: `conversations` and `history_seconds` bound their number and age.
        max_bytes: The maximum size of all states together; a larger state is refused.
    """

    def __init__(self, limits: Limits | None = None, max_bytes: int = _MAX_BYTES) -> None:
        check_arguments(MemoryStateStore, locals(), {"max_bytes"})
        limits = limits or Limits()
        self._max_bytes = max_bytes
        self._saved: BoundedMap[StateKey, bytes] = BoundedMap(
            limits.conversations, limits.history_seconds, max_bytes, len
        )

    @override
    async def load(self, key: StateKey) -> Mapping[str, JSON] | None:
        return _decoded(self._saved.get(key))

    @override
    async def save(self, key: StateKey, value: Mapping[str, Any]) -> None:
        self._saved[key] = _encoded(value, self._max_bytes)

    @override
    async def delete(self, key: StateKey) -> None:
        self._saved.pop(key)


class ServerStateStore(StateStore):
    """Keeps states of up to 32 MiB as JSON in the server's storage."""

    def __init__(self, storage: StateStorage) -> None:
        self._storage = storage

    @override
    async def load(self, key: StateKey) -> Mapping[str, JSON] | None:
        return _decoded(await self._storage.read_state(*key, _KIND))

    @override
    async def save(self, key: StateKey, value: Mapping[str, Any]) -> None:
        await self._storage.write_state(*key, _KIND, _encoded(value, _MAX_STORED_BYTES))

    @override
    async def delete(self, key: StateKey) -> None:
        await self._storage.write_state(*key, _KIND, None)


def _encoded(value: Mapping[str, Any], max_bytes: int) -> bytes:
    encoded = to_json(value)
    if len(encoded) > max_bytes:
        raise InvalidInputError("this conversation has become too long; please start a new one")
    return encoded


def _decoded(encoded: bytes | None) -> Mapping[str, JSON] | None:
    return None if encoded is None else cast("Mapping[str, JSON]", from_json(encoded))


State = Mapping[str, Any]
"""A state of `save_state` as JSON."""


@dataclass(frozen=True, slots=True)
class Question:
    """A handoff to the user that ended a run, or the suspended turn of a user proxy or member.

    Attributes:
        task_id: The task that waits.
        asker: The agent that gets the answer; "" if there is none.
        addressee: The target of the question.
        state: The state from which the run continues.
        usage: The tokens used so far, input and output.
        prompt: The question of a user proxy or member; "" for a handoff.
        is_relayed: Whether a remote agent asks through its member of the team.
    """

    task_id: str
    asker: str
    addressee: str
    state: State
    usage: tuple[int, int]
    prompt: str = ""
    is_relayed: bool = False

    @property
    def is_of_proxy(self) -> bool:
        """Whether a user proxy asks."""
        return bool(self.prompt) and not self.is_relayed


@dataclass(frozen=True, slots=True)
class Remembered:
    """One conversation. `state` is None before its first run has ended."""

    state: State | None = None
    question: Question | None = None

    @property
    def start_state(self) -> State | None:
        """The state from which the next run starts."""
        return self.question.state if self.question else self.state


class Memory:
    """All conversations, in a store.

    A question is stored beside the state from before its task. Abandoning it, like a failed or
    cancelled run, leaves the conversation unchanged.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store

    async def recall(self, key: StateKey) -> Remembered:
        """Return the stored state and question of a conversation."""
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
        """Store a question beside the state."""
        before = await self.recall(key)
        await self._store.save(key, {"state": before.state, "question": asdict(question)})
