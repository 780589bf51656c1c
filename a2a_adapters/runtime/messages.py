"""Recognises requests that are sent again, and finds the task that each began.

A2A 1.0, section 3.3.1, lets agents detect duplicates by `messageId`. People, documentation and
test kits use one id for many messages, so the id alone tells nothing, unless the caller activates
the deduplication extension and so declares that its ids are unique.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from a2a.types import Message
from a2a.utils.errors import InvalidParamsError

from a2a_adapters.concurrency import shielded
from a2a_adapters.protocol import states
from a2a_adapters.protocol.shown import clipped, quote
from a2a_adapters.runtime.identity import Accepted, hash_of
from a2a_adapters.storage.interface import UsedMessage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a.types import Task

    from a2a_adapters.runtime.identity import Identity
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.run import Run
    from a2a_adapters.storage.interface import AgentStorage

logger = logging.getLogger(__name__)

_NOTED_IDS = 10_000
"""How many ids are remembered to log their reuse."""


class Repeated(NamedTuple):
    """The first arrival of a request that is sent again."""

    task_id: str
    run: Run | None
    """Its run, if this process has it and it has not ended."""
    name: str
    """The key under which a reply without a task is stored."""


Make: TypeAlias = "Callable[[Accepted], Awaitable[Run]]"
"""Begins to answer a message."""


class AcceptedMessages:
    """Maps requests to the tasks that they began.

    Args:
        storage: Stores the mapping.
        may_reply: Whether a message may be answered without a task. A task is then unknown to
            callers until it is announced.
    """

    def __init__(self, storage: AgentStorage, *, may_reply: bool = False) -> None:
        self._storage = storage
        self._first_state = states.UNSPECIFIED if may_reply else states.SUBMITTED
        self._beginning: dict[tuple[str, str], tuple[bytes, asyncio.Future[Run | Repeated]]] = {}
        self._noted: OrderedDict[int, None] = OrderedDict()

    async def begin(
        self, sent: Identity, message: Message, live: LiveTask, make: Make
    ) -> Run | Repeated:
        """Return the run that `make` makes of a new message, or its first arrival.

        Args:
            sent: What identifies the request.
            message: Its message.
            live: Its task, which may be new.
            make: Begins to answer it.

        Raises:
            InvalidParamsError: Another message had this id, and the caller said that ids are
                unique.
            ConversationElsewhereError: Another process has to answer it; nothing was begun.
            StorageUnavailableError: It could not be stored in time; nothing was begun.
        """
        accepted = Accepted(self._storage, live, sent.name)
        if not sent.name:
            if live.draft is not None:
                await self._store(live.draft, accepted, b"")
            return await self._made(make, accepted, message)
        key = live.owner, sent.name
        while (found := self._beginning.get(key)) is not None:
            _check(found[0], sent.digest)
            await asyncio.wait([found[1]])
            if not found[1].cancelled():
                begun = found[1].result()
                if isinstance(begun, Repeated):
                    return begun
                return Repeated(begun.live.task_id, begun, sent.name)
        future: asyncio.Future[Run | Repeated] = asyncio.get_running_loop().create_future()
        self._beginning[key] = sent.digest, future
        try:
            begun = await self._begin(accepted, message, sent, make)
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
            del future  # its exception knows this frame, and by it the task: a cycle

    async def _begin(
        self, accepted: Accepted, message: Message, sent: Identity, make: Make
    ) -> Run | Repeated:
        live = accepted.live
        if live.draft is not None:
            if (used := await self._store(live.draft, accepted, sent.digest)) is not None:
                _check(used.digest, sent.digest)
                return Repeated(used.task_id, None, sent.name)
        elif _is_in_history(sent, message, live):
            return Repeated(live.task_id, None, sent.name)
        return await self._made(make, accepted, message)

    async def _store(self, task: Task, accepted: Accepted, digest: bytes) -> UsedMessage | None:
        """Store a new task together with the message that begins it, unless it has begun one."""
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

    async def _made(self, make: Make, accepted: Accepted, message: Message) -> Run:
        live = accepted.live
        self._note_id(live, message.message_id)
        try:
            return await make(accepted)
        except BaseException:
            if live.task is None:
                await shielded(accepted.retract())
            raise

    def _note_id(self, live: LiveTask, message_id: str) -> None:
        """Log that an id which this process has seen lately is used for another request."""
        key = hash((live.owner, message_id))
        if key in self._noted:
            shown = quote(clipped(message_id))
            logger.info(
                "task %s: its messageId '%s' was used before, by another request",
                live.task_id,
                shown,
            )
        self._noted[key] = None
        if len(self._noted) > _NOTED_IDS:
            self._noted.popitem(last=False)

    def is_repeat(self, sent: Identity, message: Message, live: LiveTask) -> bool:
        """Return whether a request to an existing task was accepted before.

        Raises:
            InvalidParamsError: The task has another message of that id, and the caller said that
                ids are unique.
        """
        if not sent.name:
            return False
        return (live.owner, sent.name) in self._beginning or _is_in_history(sent, message, live)

    def resumed(self, live: LiveTask) -> Accepted:
        """Return the message of a task that a dead process was answering.

        Repeats of it find the task in the storage.
        """
        return Accepted(self._storage, live)

    def ended(self, accepted: Accepted) -> None:
        """Note that a message's run has ended: from now on the storage alone remembers it."""
        if accepted.name:
            self._beginning.pop((accepted.live.owner, accepted.name), None)

    async def reply(self, owner: str, name: str) -> Message | None:
        """Return the answer to a request that made no task, None if there was none."""
        body = await self._storage.reply_to(owner, name)
        return None if body is None else Message.FromString(body)


def _check(known: bytes, given: bytes) -> None:
    if known != given:
        raise InvalidParamsError(
            "this messageId was used for another message; the deduplication extension needs an "
            "id for each"
        )


def _is_in_history(sent: Identity, message: Message, live: LiveTask) -> bool:
    """Return whether a task has taken up a message before.

    The first message of a task made it: one that names the task is another request.
    """
    if live.task is None:
        return False
    history = live.task.history if sent.is_by_id else live.task.history[1:]
    for known in history:
        if known.message_id == message.message_id and known.role == message.role:
            if sent.is_by_id:
                _check(hash_of(Message(parts=known.parts, metadata=known.metadata)), sent.digest)
                return True
            if known == message:
                return True
    return False
