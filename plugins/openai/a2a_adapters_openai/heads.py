"""Finds the context of a chat whose client sends the whole history with each message.

Chat Completions has no conversation ids. After each answer, the *head* of the chat is stored under
a digest of the conversation so far: the context, and the task if it asks a question. The next
request continues that context if its history has the same digest.

A head is used once. An edited or regenerated message therefore starts a branch: a new context
that gets the history as text. If several contexts of a caller have reached the same digest, none
is used, because their clients may be different people.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from a2a_adapters.dialects import new_id
from a2a_adapters_openai.messages import ASSISTANT, SYSTEM, ChatMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from a2a_adapters import Part
    from a2a_adapters.plugin import StateStorage

_KIND = "openai:head"
_TRIES = 10


class Head(NamedTuple):
    """The point from which a chat continues.

    Attributes:
        context_id: Its context.
        task_id: The task that waits for the next message; "" if none does.
        system: A digest of the system messages that the agent has received.
    """

    context_id: str
    task_id: str
    system: str


class Chat:
    """The messages of a request.

    Args:
        messages: All messages, oldest first.
        keys: The client's names for the chat and its user; chats with different names never
            share a context.
    """

    def __init__(self, messages: Sequence[ChatMessage], keys: Sequence[str]) -> None:
        self.system = [each for each in messages if each.speaker == SYSTEM]
        self.turns = [each for each in messages if each.speaker != SYSTEM]
        answers = [n for n, each in enumerate(self.turns, 1) if each.speaker == ASSISTANT]
        self._known = answers[-1] if answers else 0
        self._start = hashlib.sha256(json.dumps(keys).encode(errors="surrogatepass")).digest()

    @property
    def new_messages(self) -> Sequence[ChatMessage]:
        """The messages since the agent's last answer."""
        return self.turns[self._known :]

    @property
    def before(self) -> bytes | None:
        """The digest of the chat up to the agent's last answer, None without an answer."""
        return _digest(self._start, self.turns[: self._known]) if self._known else None

    def after(self, answer: Sequence[Part]) -> bytes:
        """Return the digest of the chat with an answer to this request."""
        return _digest(self._start, [*self.turns, ChatMessage(ASSISTANT, answer)])

    @property
    def system_digest(self) -> str:
        """A digest of the system messages."""
        return _digest(b"", self.system).hex()


class Heads:
    """The heads of the chats with one agent.

    Args:
        storage: Stores the heads.
        owner: The chats' owner; "" for anonymous callers.
    """

    def __init__(self, storage: StateStorage, owner: str) -> None:
        self._storage = storage
        self._owner = owner

    async def take(self, digest: bytes) -> Head | None:
        """Return the only head at this point and remove it; None if there is none or several."""
        name = digest.hex()
        for _ in range(_TRIES):
            body = await self._storage.read_state(self._owner, name, _KIND)
            if body is None:
                return None
            stored = _Stored.read(body)
            left = stored.contexts - 1
            if not await self._swap(name, body, _Stored(left, None)):
                continue
            if not left:
                await self._storage.write_state(self._owner, name, _KIND, None)
            return stored.head
        return None

    async def put(self, digest: bytes, head: Head) -> None:
        """Store the head of a chat."""
        name = digest.hex()
        for _ in range(_TRIES):
            body = await self._storage.read_state(self._owner, name, _KIND)
            contexts = 0 if body is None else _Stored.read(body).contexts
            if await self._swap(name, body, _Stored(contexts + 1, None if contexts else head)):
                return

    async def _swap(self, name: str, expected: bytes | None, stored: _Stored) -> bool:
        body = stored.written()
        return await self._storage.swap_state(self._owner, name, _KIND, expected, body)


class _Stored(NamedTuple):
    """The state stored under a digest.

    Attributes:
        contexts: Number of contexts that have reached this point and were not continued.
        head: The head, if there never was more than one.
    """

    contexts: int
    head: Head | None

    @classmethod
    def read(cls, body: bytes) -> _Stored:
        contexts, head, _ = json.loads(body)
        return cls(contexts, Head(*head) if head else None)

    def written(self) -> bytes:
        """Return it as bytes, which are different each time, as `swap_state` requires."""
        return json.dumps([self.contexts, self.head, new_id()]).encode()


def _digest(start: bytes, messages: Iterable[ChatMessage]) -> bytes:
    for each in messages:
        start = each.fold(start)
    return start
