"""One task while it lives in memory: its state, its page and its subscribers."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a.types import (
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import InvalidAgentResponseError

from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import agent_struct
from a2a_adapters.protocol.errors import TaskGenerationMismatchError
from a2a_adapters.protocol.generation import drafted, numbered, set_drafted
from a2a_adapters.protocol.messages import ANSWER, status_event
from a2a_adapters.runtime.subscriber import publish
from a2a_adapters.runtime.updates import AnyUpdate, TextStream, Update

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from a2a.server.events import Event
    from a2a.types import TaskPushNotificationConfig

    from a2a_adapters.contract.parts import JSON
    from a2a_adapters.runtime.subscriber import Receiver, RecentUpdates, Subscriber
    from a2a_adapters.storage.interface import State
    from a2a_adapters.storage.journal import Page

_UPDATES_PER_TURN = 32

_UNCOUNTED_BYTES = 64 * 1024
"""An answer is counted in steps of this size."""

_EVENT_BYTES = 64
"""The overhead of an artifact."""

_PLACE_BYTES = 16
"""The places of a chunk in lists."""

_COPIES = 2
"""An answer is held as chunks or as one string, and as the artifact of its task."""

_LOST_UPDATES = 1 << 24
"""More updates than a dead process can have published after it last saved a task.

Each takes some of the memory that `Limits.running_bytes` limits.
"""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Draft:
    """A task that is not announced yet.

    Attributes:
        joins: Whether its context may have other tasks.
        config: The push notification config that is stored with it.
    """

    task: Task
    joins: bool
    config: TaskPushNotificationConfig | None = None


class LiveTask:
    """Applies each event once, saves it, and hands it to every subscriber.

    Args:
        owner: The name of its owner; empty for anonymous callers.
        on_end: Called once, when the task has ended.
        grow: Reserves memory for more of the answer.
        task: Its stored state, if it has one.
        recent: Keeps its latest updates; None if its changes are not counted.
    """

    def __init__(
        self,
        task_id: str,
        context_id: str,
        owner: str,
        page: Page,
        on_end: Callable[[LiveTask], None],
        grow: Callable[[LiveTask, int], None],
        task: Task | None = None,
        recent: RecentUpdates | None = None,
    ) -> None:
        self._grow = grow
        self._uncounted = 0
        self.grown = 0
        """Number of reserved bytes of its answer."""
        self.task_id = task_id
        self.context_id = context_id
        self.owner = owner
        self.page = page
        self.known_since = time.monotonic()
        self._on_end = on_end
        self.turn = asyncio.Lock()
        """Held by the message that is being answered: messages are answered in order."""
        self.runs: set[asyncio.Task[None]] = set()
        """Messages being answered or waiting for their turn."""
        self.holders = 0
        """Number of requests about to use it."""
        self.unanswered = 0
        """Number of runs that may still end the task."""
        self.reply: Message | None = None
        self.state: TaskState = task.status.state if task else states.UNSPECIFIED
        """The state of the task; unspecified before it is announced."""
        self.is_terminal = self.state in states.TERMINAL
        """Whether no event can follow."""
        self.receivers: dict[str, Receiver[Any]] = {}
        """The push receivers, by the id of their config."""
        self.draft: Draft | None = None
        """The task that the first message creates, before it is announced."""
        self._task = task
        self._places: dict[str, int] | None = None
        """The positions of the artifacts by id; None before they are needed."""
        self._text: TextStream | None = None
        self.subscribers: list[Subscriber] = []
        """The readers of the task's updates."""
        self._updates = 0
        self._snapshot: Update | None = None
        self.recent = recent
        self.generation = 0
        """Number of its changes (A2A 1.1 as drafted); 0 if they are not counted."""
        self._step = 1
        if recent is not None and task is not None:
            self.generation = drafted(task) or 1
            if self.state in states.ACTIVE:
                self._step = _LOST_UPDATES
        self._stamp = 0
        """The generation in the task itself."""

    @property
    def task(self) -> Task | None:
        """The task as it is now, or None before it is announced. Do not change it."""
        if self._text is not None:
            self._text.settle()
        if self._stamp != self.generation and self._task is not None:
            self._stamp = self.generation
            set_drafted(self._task, self.generation)
        return self._task

    @property
    def shown(self) -> Task | None:
        """The task as it is now, in an object that later events do not change."""
        if self.is_terminal:
            return self.task
        snapshot = self.snapshot()
        return snapshot.event if snapshot is not None else None  # type: ignore[return-value]

    def show(self, subscriber: Subscriber) -> None:
        """Send the task as it is now."""
        if (snapshot := self.snapshot()) is not None:
            subscriber.has_begun = True
            subscriber.push(snapshot)

    def snapshot(self) -> Update | None:
        """Return the task as it is now, shared by all readers; None before it is announced."""
        if self._snapshot is None and (task := self.task) is not None:
            shown = task if self.is_terminal else _copy(task)
            self._snapshot = Update(shown, generation=self.generation)
        return self._snapshot

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Remove a subscriber."""
        if subscriber in self.subscribers:
            self.subscribers.remove(subscriber)

    def check_generation(self, expected: int) -> None:
        """Refuse a message that depends on another generation of the task.

        Raises:
            TaskGenerationMismatchError: The task has changed.
        """
        if expected != self.generation:
            raise TaskGenerationMismatchError.of(self.task_id, expected, self.generation)

    def add_message(self, message: Message) -> None:
        """Add the caller's follow-up to the history (A2A 1.0, section 3.4.3)."""
        self._snapshot = None
        if self._task is not None:
            self._retire_status_message(self._task)
            self._task.history.append(message)

    async def set_state(
        self, state: TaskState, text: str = "", metadata: Mapping[str, JSON] | None = None
    ) -> None:
        """Change the state, with `text` as the agent's message if there is any."""
        event = status_event(self.task_id, self.context_id, state, text)
        if metadata:
            event.metadata.CopyFrom(agent_struct(metadata))
        await self.apply(event)

    async def announce(self, state: TaskState, metadata: Mapping[str, JSON]) -> None:
        """Begin the task with its draft; save it and publish it."""
        if self.draft is None or self.is_terminal:
            return
        task = self.draft.task
        stamp = task.status.timestamp
        stamp.seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        stamp.nanos = nanoseconds // 1000 * 1000
        task.status.state = self.state = state
        if metadata:
            task.metadata.CopyFrom(agent_struct(metadata))
        await self._save_and_publish(self._begin(task), ())

    async def apply(self, event: Event, kept: Collection[State] = ()) -> None:
        """Fold an event into the task, save it and publish it.

        Args:
            event: The event.
            kept: State of the conversation, saved with the task.

        Raises:
            InvalidAgentResponseError: The event does not fit the task.
        """
        if self.is_terminal:
            logger.warning("task %s is over; dropped a %s", self.task_id, type(event).__name__)
            return
        if isinstance(event, Message):
            self._answer(event)
            return
        task_id = event.id if isinstance(event, Task) else event.task_id
        if task_id != self.task_id or event.context_id != self.context_id:
            raise InvalidAgentResponseError("the agent sent an event of another task or context")
        if isinstance(event, TaskStatusUpdateEvent):
            if PROGRESS_EXTENSION in event.status.message.extensions:
                publish(Update(event, is_progress=True), self.subscribers, self)
                self._updates += 1
                if self._updates % _UPDATES_PER_TURN == 0:
                    await self._yield_to_readers()
                return
            if self._text is not None and event.status.state in states.TERMINAL:
                end = self._text.next("", last=True)
                self._number(end)
                publish(end, self.subscribers, self)
                self._end_text()
        if isinstance(event, TaskArtifactUpdateEvent):
            self._count(event.ByteSize() + _EVENT_BYTES)
        self._snapshot = None
        self._fold(event)
        await self._save_and_publish(event, kept)
        self._updates += 1
        if self._updates % _UPDATES_PER_TURN == 0:
            await self._yield_to_readers()

    def _answer(self, reply: Message) -> None:
        """End with a message in place of a task."""
        if self._task is not None:
            raise InvalidAgentResponseError("the agent sent a message after it began a task")
        self.reply, self.is_terminal = reply, True
        publish(Update(reply), self.subscribers, self)
        self.close_subscribers()

    def _advance(self) -> None:
        """Count a change."""
        self.generation += self._step
        self._step = 1

    def _number(self, update: AnyUpdate) -> None:
        """Count the change that a chunk of text makes, and keep the chunk."""
        if self.recent is None:
            return
        self._advance()
        update.generation = self.generation
        if isinstance(update, Update):
            set_drafted(update.event, update.generation)
        self.recent.add(update)

    async def _save_and_publish(
        self, event: Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent, kept: Collection[State]
    ) -> None:
        """Save the task after an event, and publish the event."""
        if self.recent is not None:
            self._advance()
        generation = self.generation
        # Subscribers that join during the save are shown a task that holds the event already.
        readers = tuple(self.subscribers)
        version = 0
        is_artifact = isinstance(event, TaskArtifactUpdateEvent)
        is_settled = self.state in states.SETTLED
        try:
            if kept or not (is_artifact or (self.page.is_known_active and not is_settled)):
                task = self.task
                assert task is not None  # noqa: S101 - created by `_fold`
                version = await self.page.save(task, event, self.receivers, kept)
            elif not self.page.is_dirty:
                self.page.mark(self.save)
        finally:  # publish the state even if it could not be saved
            if (readers or self.receivers or generation) and not self.page.is_lost:
                self._publish(event, readers, version, generation)
            if self.state in states.SETTLED and not is_artifact:
                self.close_subscribers()
            if self.is_terminal and not self.page.is_lost:
                self._on_end(self)

    def _publish(
        self,
        event: Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent,
        readers: Collection[Subscriber],
        version: int,
        generation: int,
    ) -> None:
        """Publish a saved event, in an object that later events do not change."""
        if generation:
            event = numbered(event, generation)
        elif isinstance(event, Task) and event is self._task:
            event = _copy(event)
        update = Update(event, version=version, generation=generation)
        if self.recent is not None:
            self.recent.add(update)
        publish(update, readers, self)

    async def append_text(self, artifact_id: str, text: str, *, last: bool) -> None:
        """Append to a text artifact; its first chunk creates it."""
        if self.is_terminal or self._task is None:
            return
        self._count(text.__sizeof__() + _PLACE_BYTES)
        stream = self._text
        update: AnyUpdate
        if stream is None or stream.artifact_id != artifact_id:
            self._end_text()
            update = self._begin_text(self._task, artifact_id, text, last=last)
        else:
            update = stream.next(text, last=last)
        if last:
            self._end_text()
        if self.recent is not None:
            self._number(update)
        if not self.page.is_dirty:
            self.page.mark(self.save)
        self._snapshot = None
        publish(update, self.subscribers, self)
        self._updates += 1
        if self._updates % _UPDATES_PER_TURN == 0:
            await self._yield_to_readers()

    def _begin_text(self, task: Task, artifact_id: str, text: str, *, last: bool) -> AnyUpdate:
        """Create a text artifact, or continue one that has been corrected."""
        place = self._artifact_places.setdefault(artifact_id, len(task.artifacts))
        is_new = place == len(task.artifacts)
        if is_new:
            task.artifacts.add(artifact_id=artifact_id, name=ANSWER)
        stream = TextStream(task.artifacts[place], self.task_id, self.context_id)
        self._text = stream
        return stream.first(text) if is_new else stream.next(text, last=last)

    def _count(self, size: int) -> None:
        """Reserve memory for more of the answer, in steps: small answers need none.

        Raises:
            AnswersTooLargeError: No memory is left.
        """
        self._uncounted += size
        if self._uncounted > _UNCOUNTED_BYTES:
            size, self._uncounted = self._uncounted, 0  # first: the failure counts, too
            self._updates = -1  # lets the readers run after the next update
            self._grow(self, _COPIES * size)

    async def truncate(self, artifacts: int) -> None:
        """Drop all artifacts but the first ones, and publish the task."""
        if self._task is None or len(self._task.artifacts) <= artifacts:
            return
        self._end_text()
        del self._task.artifacts[artifacts:]
        self._places = None
        if self.recent is not None:
            self._advance()
        self._snapshot = None
        if not self.page.is_dirty:
            self.page.mark(self.save)
        if (snapshot := self.snapshot()) is not None:
            if self.recent is not None:
                self.recent.add(snapshot)
            publish(snapshot, tuple(self.subscribers), self)

    async def _yield_to_readers(self) -> None:
        """Let readers run while a generator never waits; wait for slow ones."""
        await asyncio.sleep(0)
        if behind := [reader for reader in self.subscribers if reader.is_behind]:
            await asyncio.gather(*(reader.caught_up() for reader in behind))

    async def save(self) -> None:
        """Save the task as it is now."""
        if (task := self.task) is not None:
            await self.page.save(task, None)

    def close_subscribers(self) -> None:
        """Close the streams of all readers, and drop the updates kept for them."""
        for subscriber in self.subscribers:
            subscriber.close()
        self.subscribers.clear()
        if self.recent is not None:
            self.recent.clear()

    def _fold(self, event: Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent) -> None:
        match event:
            case Task():
                self._end_text()
                self._begin(event if self.draft and event is self.draft.task else _copy(event))
            case TaskStatusUpdateEvent():
                self._fold_status(self._existing(), event)
            case TaskArtifactUpdateEvent():
                if self._text is not None and self._text.artifact_id == event.artifact.artifact_id:
                    self._end_text()
                self._fold_artifact(self._existing(), event)
                return
        self.state = event.status.state
        self.is_terminal = self.state in states.TERMINAL

    def _existing(self) -> Task:
        if self._task is not None:
            return self._task
        known = TaskStatus(state=states.SUBMITTED)
        return self._begin(Task(id=self.task_id, context_id=self.context_id, status=known))

    def _begin(self, task: Task) -> Task:
        self.draft = self._places = None
        self._task = task
        self._stamp = 0
        return task

    @property
    def _artifact_places(self) -> dict[str, int]:
        if self._places is None:
            self._places = {}
            for place, artifact in enumerate(self._task.artifacts if self._task else ()):
                self._places.setdefault(artifact.artifact_id, place)
        return self._places

    def _fold_artifact(self, task: Task, event: TaskArtifactUpdateEvent) -> None:
        places, artifact_id = self._artifact_places, event.artifact.artifact_id
        place = places.get(artifact_id)
        if place is None:
            if event.append:
                raise InvalidAgentResponseError(
                    "the agent appended to an artifact it did not begin"
                )
            places[artifact_id] = len(task.artifacts)
            task.artifacts.append(event.artifact)
        elif not event.append:
            task.artifacts[place].CopyFrom(event.artifact)
        else:
            artifact = task.artifacts[place]
            artifact.parts.extend(event.artifact.parts)
            artifact.metadata.MergeFrom(event.artifact.metadata)

    def _fold_status(self, task: Task, event: TaskStatusUpdateEvent) -> None:
        self._retire_status_message(task)
        if event.HasField("metadata"):
            task.metadata.MergeFrom(event.metadata)
        task.status.CopyFrom(event.status)
        if not task.status.HasField("timestamp"):
            task.status.timestamp.GetCurrentTime()

    @staticmethod
    def _retire_status_message(task: Task) -> None:
        if task.status.HasField("message"):
            task.history.append(task.status.message)
            task.status.ClearField("message")

    def _end_text(self) -> None:
        if self._text is not None:
            self._text.end()
            self._text = None


def _copy(task: Task) -> Task:
    copy = Task()
    copy.CopyFrom(task)
    return copy
