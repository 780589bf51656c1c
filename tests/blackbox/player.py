"""Plays a story over HTTP and records the observations in it."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import aclosing
from typing import TYPE_CHECKING
from uuid import UUID

from tests.blackbox.client import RETRY_SECONDS, Client, Json, LostError, RefusedError

if TYPE_CHECKING:
    from tests.blackbox.stories import Story

CANCELED = "TASK_STATE_CANCELED"
COMPLETED = "TASK_STATE_COMPLETED"
FAILED = "TASK_STATE_FAILED"
WAITS = "TASK_STATE_INPUT_REQUIRED"
WORKS = {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
POLL_SECONDS = 0.1


class Player:
    """Plays one story.

    Args:
        story: The story to play and to record in.
        client: Calls the story's agent as its owner.
        receiver: URL for notifications.
    """

    def __init__(self, story: Story, client: Client, receiver: str) -> None:
        self._story = story
        self._client = client
        self._receiver = receiver
        self._chance = random.Random(story.seed)
        self._first: Json = {}

    async def play(self) -> None:
        """Send the first message, answer questions, and finally repeat the message."""
        story = self._story
        story.sent_at = time.time()
        self._first = self._message(story.key)
        if story.context_id:
            self._first["contextId"] = story.context_id
        try:
            if story.cancels_after is None:
                await self._send(self._first, notified=story.notified)
                await self._answer_all()
            else:
                await self._cancel()
            await self._repeat()
        except RefusedError as error:
            self._wrong("refused", str(error))

    async def _answer_all(self) -> None:
        story = self._story
        for question in story.script.questions:
            if story.state != WAITS:
                return
            if question.text not in story.text:
                self._wrong("differs", f"asks {story.text!r}, without {question.text!r}")
            answer = self._message(question.answer)
            answer |= {"taskId": story.task_id, "contextId": self._first_context}
            try:
                await self._send(answer)
            except RefusedError as error:
                await self._refused(answer, error)
                return
            story.answered += 1

    async def _refused(self, answer: Json, error: RefusedError) -> None:
        """Accept a refused answer if the task has already ended."""
        task = await self._see()
        known = {message["messageId"] for message in task.get("history", [])}
        if self._story.state != FAILED or answer["messageId"] in known:
            self._wrong("refused", f"{error} (the task is {self._story.state})")

    async def _cancel(self) -> None:
        """Start the task and cancel it in any state."""
        story = self._story
        story.way = "return at once"
        await self._send(self._first, notified=story.notified, patient=False)
        await asyncio.sleep(story.cancels_after or 0)
        try:
            await self._client.call("CancelTask", {"id": story.task_id}, hasty=story.hasty)
        except RefusedError as error:
            await self._see()
            if story.state in {*WORKS, WAITS}:
                self._wrong("refused", f"{error} (the task is {story.state})")
        else:
            await self._see()
            if story.state != CANCELED:
                self._wrong("differs", f"was canceled and is {story.state}")
        if story.state == CANCELED:
            story.cancelled_at = time.time()

    async def _repeat(self) -> None:
        """Repeat the first message, which must return its task."""
        story = self._story
        first = story.task_id, story.state, story.text
        params = self._params(self._first, notified=story.notified)
        self._take((await self._client.call("SendMessage", params))["task"])
        if (story.task_id, story.state, story.text) != first:
            again = story.task_id, story.state, story.text
            self._wrong("differs", f"observed {first}, and after a repeat {again}")
            story.task_id, story.state, story.text = first

    def _message(self, text: str) -> Json:
        message_id = str(UUID(int=self._chance.getrandbits(128), version=4))
        return {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}

    def _params(self, message: Json, *, notified: bool) -> Json:
        configuration: Json = {"returnImmediately": self._story.way == "return at once"}
        if notified:
            to = {"url": self._receiver, "token": self._story.key}
            configuration["taskPushNotificationConfig"] = to
        return {"message": message, "configuration": configuration}

    async def _send(self, message: Json, *, notified: bool = False, patient: bool = True) -> None:
        """Send a message until it is acknowledged, and wait until the task is settled."""
        params = self._params(message, notified=notified)
        if self._story.way == "SendStreamingMessage":
            await self._stream(params)
        else:
            hasty = self._story.hasty
            self._take((await self._client.call("SendMessage", params, hasty=hasty))["task"])
        while patient and self._story.state in WORKS:
            await asyncio.sleep(POLL_SECONDS)
            await self._see()

    async def _stream(self, params: Json) -> None:
        """Read a stream; if interrupted, repeat the message or subscribe to its task."""
        method = "SendStreamingMessage"
        seen = Heard()
        while not seen.is_settled:
            try:
                async with aclosing(self._client.stream(method, params)) as events:
                    async for event in events:
                        seen.take(event)
                        self._story.task_id = self._story.task_id or seen.task_id
                        if seen.is_settled:
                            break
            except LostError:
                await asyncio.sleep(RETRY_SECONDS)
            except RefusedError:
                if method != "SubscribeToTask":
                    raise
                break  # the task has ended; it is read below
            if seen.state and self._chance.random() < 0.5:  # the message was acknowledged
                method, params = "SubscribeToTask", {"id": self._story.task_id}
        await self._see()
        if seen.state == self._story.state == COMPLETED and seen.text != self._story.text:
            self._wrong("differs", f"streamed {seen.text!r}, stored {self._story.text!r}")

    async def _see(self) -> Json:
        """Read the task."""
        task = await self._client.call("GetTask", {"id": self._story.task_id})
        self._take(task)
        return task

    def _take(self, task: Json) -> None:
        story = self._story
        if story.task_id and story.task_id != task["id"]:
            self._wrong("twice", f"the message began {story.task_id} and {task['id']}")
        if story.context_id not in ("", task["contextId"]):
            self._wrong("differs", f"sent in {story.context_id}, is in {task['contextId']}")
        story.task_id = task["id"]
        self._first_context = task["contextId"]
        story.state, story.text = state_of(task), text_of(task)
        story.ended_at = time.time()

    def _wrong(self, kind: str, detail: str) -> None:
        self._story.wrong.append((kind, detail))


class Heard:
    """A task assembled from the events of a stream."""

    def __init__(self) -> None:
        self.task_id = self.state = ""
        self._artifacts: dict[str, str] = {}

    @property
    def is_settled(self) -> bool:
        """Whether the task is terminal or interrupted."""
        return bool(self.state) and self.state not in WORKS

    @property
    def text(self) -> str:
        """The text of all artifacts."""
        return "".join(self._artifacts.values())

    def take(self, event: Json) -> None:
        """Apply an event."""
        if task := event.get("task"):
            self.task_id, self.state = task["id"], state_of(task)
            self._artifacts = {a["artifactId"]: _joined(a) for a in task.get("artifacts", [])}
        elif update := event.get("statusUpdate"):
            self.state = update["status"]["state"]
        elif update := event.get("artifactUpdate"):
            artifact = update["artifact"]
            name = artifact["artifactId"]
            before = self._artifacts.get(name, "") if update.get("append") else ""
            self._artifacts[name] = before + _joined(artifact)


def state_of(task: Json) -> str:
    """Return a task's state."""
    state: str = task["status"]["state"]
    return state


def text_of(task: Json) -> str:
    """Return a completed task's text, or the text of its question or end."""
    if state_of(task) == COMPLETED:
        return "".join(_joined(artifact) for artifact in task.get("artifacts", []))
    return _joined(task["status"].get("message", {}))


def _joined(parts_of: Json) -> str:
    return "".join(part.get("text", "") for part in parts_of.get("parts", []))
