"""One task while it lives in memory: its state, its store page and its subscribers."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from a2a.types import (
    Artifact,
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import InvalidAgentResponseError

from a2a_adapters import states
from a2a_adapters.events import PROGRESS_EXTENSION
from a2a_adapters.runtime.updates import AnyUpdate, TextStream, Update
from a2a_adapters.writer import ANSWER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from a2a.auth.user import User
    from a2a.server.events import Event

    from a2a_adapters.runtime.journal import Page
    from a2a_adapters.runtime.push.receiver import Receiver
    from a2a_adapters.runtime.subscriber import Subscriber

_UPDATES_PER_TURN = 32

logger = logging.getLogger(__name__)


class LiveTask:
    """Applies each event once, saves it, and hands it to every subscriber.

    Args:
        task_id: The task's id.
        context_id: Its conversation.
        user: Whose task it is.
        page: Where its states are saved.
        on_end: Told once, when the task has ended.
        task: Its stored state, if it has one.
    """

    def __init__(
        self,
        task_id: str,
        context_id: str,
        user: User,
        page: Page,
        on_end: Callable[[LiveTask], None],
        task: Task | None = None,
    ) -> None:
        self.task_id = task_id
        self.context_id = context_id
        self.user = user
        self.owner = user.user_name
        self.page = page
        self.known_since = time.monotonic()
        self._on_end = on_end
        self.turn = asyncio.Lock()
        """Held by the message that is being answered: messages are answered in order."""
        self.runs: set[asyncio.Task[None]] = set()
        """Messages being answered or waiting for their turn."""
        self.reply: Message | None = None
        self.state: TaskState = task.status.state if task else states.UNSPECIFIED
        """The state of the task; unspecified before it was announced."""
        self.is_over = self.state in states.TERMINAL
        """Whether no event can follow."""
        self.receivers: dict[str, Receiver] = {}
        """Who is sent push notifications, by the id of the config."""
        self._task = task
        self._text: TextStream | None = None
        self._subscribers: list[Subscriber] = []
        self._updates = 0

    @property
    def task(self) -> Task | None:
        """The task as it is now, or None before it was announced. Not to be changed."""
        if self._text is not None:
            self._text.settle()
        return self._task

    def subscribe(self, subscriber: Subscriber) -> None:
        """Send the current task, if there is one, and then every update."""
        self._subscribers.append(subscriber)

    def show(self, subscriber: Subscriber) -> None:
        """Send the task as it is now."""
        if (snapshot := self.snapshot()) is not None:
            subscriber.has_begun = True
            subscriber.push(snapshot)

    def snapshot(self) -> Update | None:
        """Return the task as it is now, None before it was announced."""
        return None if (task := self.task) is None else Update(_copy(task))

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Forget a subscriber."""
        if subscriber in self._subscribers:
            self._subscribers.remove(subscriber)

    def add_message(self, message: Message) -> None:
        """Add the caller's follow-up to the history (A2A 1.0, section 3.4.3)."""
        if self._task is not None:
            self._retire_status_message(self._task)
            self._task.history.append(message)

    async def apply(self, event: Event) -> None:
        """Fold an event into the task, save it and publish it.

        Raises:
            InvalidAgentResponseError: The event does not fit the task.
        """
        if self.is_over:
            logger.warning("task %s is over; dropped a %s", self.task_id, type(event).__name__)
            return
        if isinstance(event, Message):
            self._answer_by(event)
            return
        self._check_ids(event)
        if isinstance(event, TaskStatusUpdateEvent) and _is_progress(event.status):
            self._publish(Update(event, is_progress=True), self._subscribers)
            await self._let_others_run()
            return
        if self._text is not None and _ends_task(event):
            self._publish(self._text.next("", last=True), self._subscribers)
            self._end_text()
        self._fold(event)
        # Who subscribes while this is saved is shown a task that holds the event already.
        readers = tuple(self._subscribers)
        try:
            await self._save(event)
        finally:  # readers are told what is the case now, also when it could not be saved
            if readers or self.receivers:
                self._publish(Update(event), readers)
            if self.state in states.SETTLED and not isinstance(event, TaskArtifactUpdateEvent):
                self.close_subscribers()
            if self.is_over:
                self._on_end(self)
        await self._let_others_run()

    async def append_text(self, artifact_id: str, text: str, *, last: bool) -> None:
        """Append to a text artifact, creating it with its first chunk."""
        if self.is_over or self._task is None:
            return
        stream = self._text
        update: AnyUpdate
        if stream is None or stream.artifact_id != artifact_id:
            self._end_text()
            artifact = self._task.artifacts.add(artifact_id=artifact_id, name=ANSWER)
            stream = self._text = TextStream(artifact, self.task_id, self.context_id)
            update = stream.first(text)
        else:
            update = stream.next(text, last=last)
        if last:
            self._end_text()
        self.page.is_dirty = True
        self._publish(update, self._subscribers)
        await self._let_others_run()

    async def _let_others_run(self) -> None:
        """Now and then give up the loop, and save what is due.

        A generator that never waits would otherwise keep its readers from reading.
        """
        self._updates += 1
        if self._updates % _UPDATES_PER_TURN == 0:
            await asyncio.sleep(0)
            if self.page.is_dirty and self.page.is_due():
                await self.save()

    async def save(self) -> None:
        """Save the task as it is now."""
        if (task := self.task) is not None:
            await self.page.save(task, None)

    def close_subscribers(self) -> None:
        """Let every reader finish."""
        for subscriber in self._subscribers:
            subscriber.close()
        self._subscribers.clear()

    def _answer_by(self, message: Message) -> None:
        if self._task is not None:
            raise InvalidAgentResponseError("the agent sent a message after it began a task")
        self.reply = message
        self.is_over = True
        self._publish(Update(message), self._subscribers)
        self.close_subscribers()

    def _check_ids(self, event: Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent) -> None:
        task_id = event.id if isinstance(event, Task) else event.task_id
        if (task_id, event.context_id) != (self.task_id, self.context_id):
            raise InvalidAgentResponseError("the agent sent an event of another task or context")

    def _fold(self, event: Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent) -> None:
        match event:
            case Task():
                self._end_text()
                self._task = _copy(event)
            case TaskStatusUpdateEvent():
                self._fold_status(self._existing(), event)
            case TaskArtifactUpdateEvent():
                if self._text is not None and self._text.artifact_id == event.artifact.artifact_id:
                    self._end_text()
                _fold_artifact(self._existing(), event)
                return
        self.state = event.status.state
        self.is_over = self.state in states.TERMINAL

    def _existing(self) -> Task:
        if self._task is None:
            self._task = Task(
                id=self.task_id,
                context_id=self.context_id,
                status=TaskStatus(state=states.SUBMITTED),
            )
        return self._task

    def _fold_status(self, task: Task, event: TaskStatusUpdateEvent) -> None:
        self._retire_status_message(task)
        if event.metadata.fields:
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
            self._text.settle()
            self._text = None

    async def _save(self, event: Event) -> None:
        task = self.task
        assert task is not None  # noqa: S101 - folding has made it
        if isinstance(event, TaskArtifactUpdateEvent) and not self.page.is_due():
            self.page.is_dirty = True
        else:
            await self.page.save(task, event)

    def _publish(self, update: AnyUpdate, readers: Iterable[Subscriber]) -> None:
        for subscriber in readers:
            if subscriber.has_begun or isinstance(update.event, Task | Message):
                subscriber.has_begun = True
                subscriber.push(update)
            else:
                self.show(subscriber)
        if self.receivers:
            for receiver in self.receivers.values():
                receiver.push(update, self)


def _ends_task(event: Event) -> bool:
    return isinstance(event, TaskStatusUpdateEvent) and event.status.state in states.TERMINAL


def _is_progress(status: TaskStatus) -> bool:
    return status.HasField("message") and PROGRESS_EXTENSION in status.message.extensions


def _copy(task: Task) -> Task:
    copy = Task()
    copy.CopyFrom(task)
    return copy


def _fold_artifact(task: Task, event: TaskArtifactUpdateEvent) -> None:
    artifact = _find(task, event.artifact.artifact_id)
    if not event.append:
        if artifact is None:
            task.artifacts.append(event.artifact)
        else:
            artifact.CopyFrom(event.artifact)
    elif artifact is None:
        raise InvalidAgentResponseError("the agent appended to an artifact it had not begun")
    else:
        artifact.parts.extend(event.artifact.parts)
        artifact.metadata.MergeFrom(event.artifact.metadata)


def _find(task: Task, artifact_id: str) -> Artifact | None:
    return next((a for a in task.artifacts if a.artifact_id == artifact_id), None)
