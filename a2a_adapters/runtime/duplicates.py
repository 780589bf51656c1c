"""Recognises duplicates of a message, and answers them like its first arrival."""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from a2a.types import Message
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError

from a2a_adapters.protocol import states
from a2a_adapters.protocol.card import DEDUPLICATION_EXTENSION
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.runtime.live import LiveTask
from a2a_adapters.runtime.run import Stage
from a2a_adapters.runtime.subscriber import Subscription, leaving
from a2a_adapters.runtime.updates import Update

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from a2a.server.context import ServerCallContext
    from a2a.types import SendMessageRequest, Task

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.registry import LiveTasks
    from a2a_adapters.runtime.run import Run
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters.storage.interface import AgentStorage

_SHORTEST_ID = 8
"""Clients that send every message as "1" or "m1" are common: such an id identifies nothing."""

_RANDOM = re.compile("[0-9a-fA-F]{32}")
_DISTINCT_DIGITS = 8
_LONGEST_SEARCHED = 256

_PAUSE_SECONDS = 0.5

_GONE = (
    "This message was received before, and its answer was deleted; to have it answered again, "
    "send it under a new messageId"
)


class Identity(NamedTuple):
    """Identifies a request."""

    name: str
    """The key it is stored under; empty if its duplicates cannot be recognised."""
    digest: bytes = b""
    """A hash that differs for another request under the same name."""
    is_by_id: bool = False
    """Whether the name is the message's id alone."""


UNRECOGNIZABLE = Identity("")
"""The identity of a request whose duplicates cannot be recognised."""


class Duplicate(NamedTuple):
    """The first arrival of a request that is sent again."""

    task_id: str
    run: Run | None
    """Its run, if that is in this process and has not ended."""
    name: str
    """The key under which a reply without a task is stored."""


_Accept: TypeAlias = "Callable[..., Awaitable[Run | Duplicate]]"
"""`Messages.accept`."""


@dataclass(eq=False, slots=True)
class Arrival:
    """The first arrival of a message, until its run has ended."""

    run: Run
    digest: bytes
    outcome: asyncio.Future[Run | Duplicate] | None = None
    """The outcome, for duplicates that arrive meanwhile."""

    async def duplicate(self, digest: bytes) -> Duplicate | None:
        """Return the outcome for a duplicate, once it is stored; None if the caller left before.

        Raises:
            A2AError: The message was refused, or `digest` is that of another message.
        """
        check_digest(self.digest, digest)
        if self.run.stage is Stage.ARRIVED:
            if self.outcome is None:
                self.outcome = asyncio.get_running_loop().create_future()
            await asyncio.wait([outcome := self.outcome])
            if outcome.cancelled():
                return None
            if isinstance(result := outcome.result(), Duplicate):
                return result
        return Duplicate(self.run.live.task_id, self.run, self.run.name)

    def resolve(self, outcome: Run | Duplicate | BaseException) -> None:
        """Give the waiting duplicates the outcome."""
        waiting, self.outcome = self.outcome, None  # an error refers to its frame: a cycle
        if waiting is None:
            return
        if isinstance(outcome, asyncio.CancelledError):
            waiting.cancel()
        elif isinstance(outcome, BaseException):
            waiting.set_exception(outcome)
            waiting.exception()  # all waiters may have left
        else:
            waiting.set_result(outcome)


class Duplicates:
    """Answers messages that have begun a task or a reply before.

    The first arrival may be taken back while a duplicate waits for it: stored too late, say, and
    refused. The duplicate is then accepted in its place.
    """

    def __init__(
        self, accept: _Accept, tasks: LiveTasks, storage: AgentStorage, figures: Figures
    ) -> None:
        self._accept = accept
        self._live = tasks
        self._storage = storage
        self._figures = figures

    async def answer(
        self, first: Duplicate, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Return the result of the first arrival, waiting for it if necessary.

        Raises:
            TaskNotFoundError: Its answer was not kept.
        """
        until_begun = params.configuration.return_immediately
        try:
            return await self._wait(first, context, until_begun=until_begun)
        except TaskNotFoundError:
            run = await self._accept_again(first, params, context)
        if isinstance(run, Duplicate):
            return await self._wait(run, context, until_begun=until_begun)
        return await run.wait(until_begun=until_begun)

    async def _accept_again(
        self,
        first: Duplicate,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber | None = None,
    ) -> Run | Duplicate:
        if params.message.task_id != first.task_id:  # not a follow-up
            params.message.task_id = ""
        return await self._accept(params, context, subscriber)

    async def _wait(
        self, first: Duplicate, context: ServerCallContext, *, until_begun: bool
    ) -> Task | Message:
        if first.run is not None:
            return await first.run.wait(until_begun=until_begun)
        live = await self._begun(first, context)
        while not _is_answered(live, until_begun=until_begun):
            # It was resumed here, or belongs to another process, which may be dead.
            pause = asyncio.create_task(asyncio.sleep(_PAUSE_SECONDS))
            await asyncio.wait({pause, *live.runs}, return_when=asyncio.FIRST_COMPLETED)
            pause.cancel()
            live = await self._begun(first, context)
        if live.state == states.SUBMITTED and not live.runs:
            # Another process has it, and may not have told its caller of it yet.
            owner = context.user.user_name
            if not await self._storage.acknowledge(owner, first.name, first.task_id):
                raise TaskNotFoundError(_GONE)
        result = live.reply or live.shown
        assert result is not None  # noqa: S101 - tasks are found once announced
        return result

    async def _begun(self, first: Duplicate, context: ServerCallContext) -> LiveTask:
        """Return the task or the reply of a message whose run has ended.

        Raises:
            TaskNotFoundError: Neither was kept, or the server stopped before there was one.
        """
        reply = await self._storage.reply_to(context.user.user_name, first.name)
        if reply is None:
            try:
                return await self._live.find(first.task_id, context)
            except TaskNotFoundError as error:
                raise TaskNotFoundError(_GONE) from error
        live = self._live.begin(Message(), context)
        live.reply, live.is_terminal = Message.FromString(reply), True
        self._live.let_go(live)
        return live

    async def read(
        self,
        first: Duplicate,
        params: SendMessageRequest,
        context: ServerCallContext,
        subscriber: Subscriber,
    ) -> Subscription:
        """Return the stream of the first arrival, from now on.

        Raises:
            TaskNotFoundError: Its answer was not kept.
            StorageUnavailableError: Its end cannot be stored in time, or another process has it.
            ConversationElsewhereError: Another process answers it.
        """
        try:
            return await self._follow(first, context, subscriber)
        except TaskNotFoundError:
            run = await self._accept_again(first, params, context, subscriber)
        if isinstance(run, Duplicate):
            return await self._follow(run, context, subscriber)
        leave = leaving(run.live, LiveTask.unsubscribe, subscriber)
        return Subscription(subscriber, self._figures, subscriber, leave)

    async def _follow(
        self, first: Duplicate, context: ServerCallContext, subscriber: Subscriber
    ) -> Subscription:
        if first.run is None:
            live = await self._begun(first, context)
            is_answered = _is_answered(live, until_begun=False)
        else:
            live, is_answered = first.run.live, first.run.has_answered
            if is_answered:
                await live.page.written()
                if live.page.is_lost:
                    raise StorageUnavailableError
        if is_answered:
            last = Update(live.reply) if live.reply else live.snapshot()
            assert last is not None  # noqa: S101 - an answered message has one of the two
            subscriber.push(last)
            subscriber.close()
            return Subscription(subscriber, self._figures)
        if first.run is None and not live.runs:
            raise ConversationElsewhereError(task_id=first.task_id)
        live.subscribers.append(subscriber)
        live.show(subscriber)
        self._live.watch(live)
        leave = partial(self._live.leave, live, subscriber)
        return Subscription(subscriber, self._figures, first.run, leave)


def _is_answered(live: LiveTask, *, until_begun: bool) -> bool:
    if until_begun and not live.is_terminal:
        return live.state != states.UNSPECIFIED  # else the task is not announced
    return live.is_terminal or live.state in states.SETTLED


def identify(
    params: SendMessageRequest, context: ServerCallContext, offered: Collection[str]
) -> Identity:
    """Return the identity of a request, the same for all bindings and versions of A2A.

    It is the message's id alone if the caller activates the deduplication extension, and so
    declares its ids unique. Otherwise it is the whole request: section 3.3.1 of A2A 1.0 lets
    agents detect duplicates by `messageId`, but people and test kits reuse ids.

    Args:
        params: The request, before the ids of a new task or context are filled in.
        context: The caller. Anonymous callers count as one.
        offered: The URIs of the agent's extensions.

    Raises:
        InvalidParamsError: An anonymous caller activates the extension with a guessable id.
    """
    message, owner = params.message, context.user.user_name
    requested = context.requested_extensions
    if DEDUPLICATION_EXTENSION in requested and DEDUPLICATION_EXTENSION in offered:
        if not owner and _is_guessable(message.message_id):
            raise InvalidParamsError(
                "without authentication, the deduplication extension needs a messageId that "
                "cannot be guessed, such as a UUID"
            )
        return Identity(message.message_id, _hash_of_content(message), is_by_id=True)
    if not is_recognizable(message.message_id, owner):
        return UNRECOGNIZABLE
    # An empty field means the same as a missing one, but bindings differ in which they send.
    if params.HasField("configuration") and not params.configuration.ByteSize():
        params.ClearField("configuration")
    if params.HasField("metadata") and not params.metadata.ByteSize():
        params.ClearField("metadata")
    digest = hashlib.sha256(params.SerializeToString(deterministic=True)).digest()
    return Identity(f"sha256:{digest.hex()}", digest)


def is_recognizable(message_id: str, owner: str) -> bool:
    """Return whether a retry differs from an unrelated request with the same content."""
    return len(message_id) >= _SHORTEST_ID and (bool(owner) or not _is_guessable(message_id))


def _is_guessable(text: str) -> bool:
    """Return whether another caller might choose the same id.

    An id that holds 32 hexadecimal digits in a row, as a UUID does (hyphens are ignored), at
    least eight of them different and one of them a letter, cannot be guessed.
    """
    found = _RANDOM.search(text[:_LONGEST_SEARCHED].replace("-", ""))
    if found is None:
        return True
    digits = set(found[0].lower())
    return len(digits) < _DISTINCT_DIGITS or digits.isdisjoint("abcdef")


def check_digest(known: bytes, given: bytes) -> None:
    """Refuse a message whose id was used for a different one, although its ids are unique.

    Raises:
        InvalidParamsError: The contents differ.
    """
    if known != given:
        raise InvalidParamsError(
            "this messageId was used for another message; the deduplication extension needs an "
            "id for each"
        )


def is_in_history(identity: Identity, message: Message, live: LiveTask) -> bool:
    """Return whether a task has already taken a message.

    A task's first message does not count: it did not name the task.

    Raises:
        InvalidParamsError: The task has another message of that id, and ids are unique.
    """
    if live.task is None or not identity.name:
        return False
    history = live.task.history if identity.is_by_id else live.task.history[1:]
    for known in history:
        if known.message_id == message.message_id and known.role == message.role:
            if identity.is_by_id:
                check_digest(_hash_of_content(known), identity.digest)
                return True
            if known == message:
                return True
    return False


def _hash_of_content(message: Message) -> bytes:
    content = Message(parts=message.parts, metadata=message.metadata)
    return hashlib.sha256(content.SerializeToString(deterministic=True)).digest()
