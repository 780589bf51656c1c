"""State of conversations, for adapters."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from a2a_adapters.contract.errors import InvalidInputError, ResumeError

if TYPE_CHECKING:
    from a2a_adapters.contract.adapter import AgentRequest, StateStorage

_MAX_BYTES = 32 * 2**20
_STAMP = 16
"""Number of random bytes before the state, which make each write unique."""


class _Place(NamedTuple):
    """The arguments with which a storage finds a state."""

    owner: str
    context_id: str
    kind: str


class ConversationState:
    """One kind of state of a conversation. A write fails if another process has changed it.

    Args:
        storage: Holds the state.
        place: The owner, the context and the kind.
        stored: What the storage holds; None if nothing.
    """

    def __init__(self, storage: StateStorage, place: _Place, stored: bytes | None) -> None:
        self._storage = storage
        self._place = place
        self._stored = stored
        self._writing = asyncio.Lock()

    @classmethod
    async def read(
        cls, storage: StateStorage, request: AgentRequest, kind: str
    ) -> ConversationState:
        """Read the state of a request's conversation."""
        place = _Place(request.owner, request.context_id, kind)
        return cls(storage, place, await storage.read_state(*place))

    @property
    def body(self) -> bytes:
        """The state as it was read or written last; b"" if there is none."""
        return self._stored[_STAMP:] if self._stored else b""

    async def write(self, body: bytes) -> None:
        """Store a new state, or the same one so that writes after earlier reads fail.

        Raises:
            InvalidInputError: It is over 32 MiB. The caller receives the text.
            ResumeError: Another process has changed it.
        """
        if len(body) > _MAX_BYTES:
            raise InvalidInputError("this conversation has become too long; start a new one")
        stamped = uuid4().bytes + body
        async with self._writing:
            if not await self._storage.swap_state(*self._place, self._stored, stamped):
                raise ResumeError("Another process has continued this conversation.")
            self._stored = stamped
