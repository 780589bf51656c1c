"""Messages that were accepted: one that comes again gets the task that it began."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from a2a.types import Message
from a2a.utils.errors import InvalidParamsError

from a2a_adapters.concurrency import shielded
from a2a_adapters.protocol import states
from a2a_adapters.runtime.accepted import Accepted
from a2a_adapters.storage.interface import UsedMessage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a.types import Task

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.run import Run
    from a2a_adapters.storage.interface import AgentStorage


_SHORTEST_ID = 8
"""Clients that send every message as "1" or "m1" are many: such an id tells nothing apart."""


class Repeated(NamedTuple):
    """What a message began when it came first."""

    task_id: str
    run: Run | None
    """Its run, if it has not ended."""


Make: TypeAlias = "Callable[[Accepted], Awaitable[Run]]"
"""Begins to answer a message."""


class AcceptedMessages:
    """Knows which message began which task.

    Args:
        storage: Remembers it.
        may_reply: Whether a message may be answered without a task. Nobody has heard of its task
            then before it is announced.
    """

    def __init__(self, storage: AgentStorage, *, may_reply: bool = False) -> None:
        self._storage = storage
        self._first_state = states.UNSPECIFIED if may_reply else states.SUBMITTED
        self._beginning: dict[tuple[str, str], tuple[bytes, asyncio.Future[Run | Repeated]]] = {}

    async def begin(self, message: Message, live: LiveTask, make: Make) -> Run | Repeated:
        """Return the run that `make` makes of a new message, or what the message began before.

        Args:
            message: The message.
            live: Its task, which may be new.
            make: Begins to answer it.

        Raises:
            InvalidParamsError: Another message had this id.
            ConversationElsewhereError: Another process has to answer it; nothing was begun.
            StorageUnavailableError: It could not be stored in time; nothing was begun.
        """
        if not is_known_again(message):
            if live.draft is not None:
                await self._store(live.draft, Accepted(self._storage, live, ""), b"")
            return await _made(make, Accepted(self._storage, live, ""))
        accepted = Accepted(self._storage, live, message.message_id)
        key, digest = (live.owner, accepted.name), _digest(message)
        while (found := self._beginning.get(key)) is not None:
            _check(found[0], digest)
            await asyncio.wait([found[1]])
            if not found[1].cancelled():
                begun = found[1].result()
                return begun if isinstance(begun, Repeated) else Repeated(begun.live.task_id, begun)
        future: asyncio.Future[Run | Repeated] = asyncio.get_running_loop().create_future()
        self._beginning[key] = digest, future
        try:
            begun = await self._begin(accepted, message, digest, make)
        except Exception as error:
            future.set_exception(error)
            future.exception()  # perhaps nobody waits for it
            raise
        else:
            future.set_result(begun)
            return begun
        finally:
            future.cancel()  # if the caller has gone: the next one begins
            if future.cancelled() or future.exception() or isinstance(future.result(), Repeated):
                self._beginning.pop(key, None)

    async def _begin(
        self, accepted: Accepted, message: Message, digest: bytes, make: Make
    ) -> Run | Repeated:
        live = accepted.live
        if live.draft is not None:
            if (used := await self._store(live.draft, accepted, digest)) is not None:
                _check(used.digest, digest)
                return Repeated(used.task_id, None)
        elif has_message(live, message):
            return Repeated(live.task_id, None)
        return await _made(make, accepted)

    async def _store(self, task: Task, accepted: Accepted, digest: bytes) -> UsedMessage | None:
        """Store a new task together with the message that begins it, unless one has begun one."""
        live = accepted.live
        task.status.state = self._first_state
        told = await self._storage.accept(
            live.owner, accepted.name, digest, task, live.config, joins=live.joins
        )
        if isinstance(told, UsedMessage):
            return told
        if not told.is_missing:
            live.page.accepted(told, self._first_state)
        return None

    def resumed(self, message: Message, live: LiveTask) -> Accepted:
        """Return a message that a process which is gone has accepted."""
        name = message.message_id if is_known_again(message) else ""
        return Accepted(self._storage, live, name)

    def runs_again(self, message: Message, run: Run) -> None:
        """Note that such a message is being answered once more."""
        if run.accepted.name:
            future: asyncio.Future[Run | Repeated] = asyncio.get_running_loop().create_future()
            future.set_result(run)
            self._beginning[run.live.owner, run.accepted.name] = _digest(message), future

    def ended(self, accepted: Accepted) -> None:
        """Note that a message's run has ended: from now on the storage alone remembers it."""
        if accepted.name:
            self._beginning.pop((accepted.live.owner, accepted.name), None)

    async def reply(self, owner: str, message_id: str) -> Message | None:
        """Return the answer to a message that made no task, None if there was none."""
        body = await self._storage.reply_to(owner, message_id)
        return None if body is None else Message.FromString(body)


async def _made(make: Make, accepted: Accepted) -> Run:
    try:
        return await make(accepted)
    except BaseException:
        if accepted.live.task is None:
            await shielded(accepted.retract())
        raise


def _digest(message: Message) -> bytes:
    """Return what tells contents apart; a client may know the task's ids when it tries again."""
    content = Message(parts=message.parts, metadata=message.metadata)
    return hashlib.sha256(content.SerializeToString(deterministic=True)).digest()


def _check(known: bytes, given: bytes) -> None:
    if known != given:
        raise InvalidParamsError(
            "this messageId was used for another message; every message needs an id of its own"
        )


def is_known_again(message: Message) -> bool:
    """Tell whether a message that comes again can be told from a new one, by its id."""
    return len(message.message_id) >= _SHORTEST_ID


def has_message(live: LiveTask, message: Message) -> bool:
    """Tell whether a task has a message already.

    Raises:
        InvalidParamsError: It has another one of that id.
    """
    if live.task is None or not is_known_again(message):
        return False
    known = next((m for m in live.task.history if m.message_id == message.message_id), None)
    if known is None or known.role != message.role:
        return False
    _check(_parts(known), _parts(message))
    return True


def _parts(message: Message) -> bytes:
    return b"".join(part.SerializeToString(deterministic=True) for part in message.parts)
