"""What identifies a request, and a message that was accepted under that identity."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from a2a.types import Message
from a2a.utils.errors import InvalidParamsError

from a2a_adapters.protocol.ids import is_guessable

if TYPE_CHECKING:
    from collections.abc import Collection

    from a2a.types import SendMessageRequest

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.storage.interface import AgentStorage, State

_SHORTEST_ID = 8
"""Clients that send every message as "1" or "m1" are common: such an id identifies nothing."""


class Identity(NamedTuple):
    """What identifies a request."""

    name: str
    """The key that it is stored under; empty if a repeat of it cannot be recognised."""
    digest: bytes = b""
    """A hash that differs for another request under the same name."""
    is_by_id: bool = False
    """Whether the name is the message's id alone."""


def identify(params: SendMessageRequest, owner: str, *, by_id: bool) -> Identity:
    """Return what identifies a request, the same for all bindings and versions of A2A.

    Args:
        params: The request. A message to a task names the task's context, and one that begins a
            task names neither but what its caller gave.
        owner: Who sent it; empty for anonymous callers, who are not told apart.
        by_id: Whether the caller declares by the deduplication extension that its ids are unique.

    Raises:
        InvalidParamsError: An anonymous caller does so with an id that can be guessed.
    """
    message = params.message
    if by_id:
        if not owner and is_guessable(message.message_id):
            raise InvalidParamsError(
                "without authentication, the deduplication extension needs a messageId that "
                "cannot be guessed, such as a UUID"
            )
        content = Message(parts=message.parts, metadata=message.metadata)
        return Identity(message.message_id, hash_of(content), is_by_id=True)
    if not is_recognizable(message.message_id, owner):
        return Identity("")
    # What is left out and what is empty are the same, but bindings differ in which they make.
    if not params.configuration.ByteSize():
        params.ClearField("configuration")
    if not params.metadata.ByteSize():
        params.ClearField("metadata")
    digest = hash_of(params)
    return Identity(f"sha256:{digest.hex()}", digest)


def is_recognizable(message_id: str, owner: str) -> bool:
    """Return whether a repeat can be told from another request that happens to be the same."""
    return len(message_id) >= _SHORTEST_ID and (bool(owner) or not is_guessable(message_id))


def hash_of(content: Message | SendMessageRequest) -> bytes:
    """Return a hash of the content, the same for equal messages."""
    return hashlib.sha256(content.SerializeToString(deterministic=True)).digest()


class Accepted(NamedTuple):
    """A message that is being answered, as the storage knows it."""

    storage: AgentStorage
    live: LiveTask
    name: str = ""
    """The key that it is stored under; empty if a repeat of it cannot be recognised."""

    async def keep_reply(self, reply: Message, kept: Collection[State] = ()) -> None:
        """Store the answer to a message that makes no task, and with it what is `kept`."""
        body = reply.SerializeToString() if self.name else None
        await self.storage.retract(self.live.owner, self.name, self.live.task_id, body, kept)

    async def retract(self) -> None:
        """Forget a message that was refused, so that it can be sent again."""
        await self.storage.retract(self.live.owner, self.name, self.live.task_id)
