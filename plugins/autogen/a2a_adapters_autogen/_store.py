"""Where the states of conversations are kept between runs."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic_core import from_json, to_json

from a2a_adapters import JSON, InvalidInputError, Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_BYTES = 256 * 2**20


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
        max_bytes: How large all states together may become.
    """

    def __init__(self, limits: Limits | None = None, max_bytes: int = _MAX_BYTES) -> None:
        self._limits = limits or Limits()
        self._max_bytes = max_bytes
        self._bytes = 0
        self._saved: OrderedDict[StateKey, tuple[float, bytes]] = OrderedDict()

    async def load(self, key: StateKey) -> Mapping[str, JSON] | None:
        """Return what was saved last; None if there is nothing."""
        self._forget_old()
        if key not in self._saved:
            return None
        return cast("Mapping[str, JSON]", from_json(self._saved[key][1]))

    async def save(self, key: StateKey, value: Mapping[str, Any]) -> None:
        """Replace what is kept under a key.

        Raises:
            InvalidInputError: The state is larger than all of them may be.
            ValueError: `value` cannot be expressed as JSON.
        """
        encoded = to_json(value)
        if len(encoded) > self._max_bytes:
            raise InvalidInputError("this conversation has become too long; start a new one")
        await self.delete(key)
        self._saved[key] = time.monotonic(), encoded
        self._bytes += len(encoded)
        self._forget_old()

    async def delete(self, key: StateKey) -> None:
        """Forget a conversation; not an error if there is none."""
        _, encoded = self._saved.pop(key, (0.0, b""))
        self._bytes -= len(encoded)

    def _forget_old(self) -> None:
        oldest = time.monotonic() - self._limits.history_seconds
        while self._saved:
            saved_at, _ = next(iter(self._saved.values()))
            is_full = len(self._saved) > self._limits.conversations or self._bytes > self._max_bytes
            if not is_full and saved_at > oldest:
                return
            _, (_, encoded) = self._saved.popitem(last=False)
            self._bytes -= len(encoded)
