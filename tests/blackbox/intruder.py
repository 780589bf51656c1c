"""Another owner, who knows the ids of a story's task and tries to use them."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from tests.blackbox.client import RETRY_SECONDS, Client, Json, LostError, RefusedError

if TYPE_CHECKING:
    from tests.blackbox.stories import Story

NOT_FOUND = -32001
_STREAMS = {"SendStreamingMessage", "SubscribeToTask"}
_LONGEST_PAUSE = 0.5


class Intruder:
    """Tries each operation once on a task of another owner.

    Args:
        story: The story of the task; violations are recorded in it.
        client: Calls the story's agent as another owner.
        receiver: URL for notifications.

    Attributes:
        tries: Number of attempts.
    """

    def __init__(self, story: Story, client: Client, receiver: str) -> None:
        self._story = story
        self._client = client
        self._receiver = receiver
        self._chance = random.Random(story.key)
        self.tries = 0

    async def intrude(self, has_ended: asyncio.Event) -> None:
        """Make the attempts from the acknowledgement of the task on, some after the story's end."""
        while not self._story.task_id:
            if has_ended.is_set():
                return
            await asyncio.sleep(RETRY_SECONDS)
        story = self._story
        target = {"url": self._receiver, "token": stolen_token(story)}
        tries = list(attempts(story.task_id, story.context_id, target).items())
        self._chance.shuffle(tries)
        for operation, params in tries:
            with suppress(TimeoutError):
                pause = self._chance.uniform(0, _LONGEST_PAUSE)
                await asyncio.wait_for(has_ended.wait(), pause)
            await self._attempt(operation, params)

    async def _attempt(self, operation: str, params: Json) -> None:
        self.tries += 1
        try:
            result = await self._answered(operation, params)
        except RefusedError as error:
            if error.code != NOT_FOUND:
                self._wrong(str(error))
            return
        if operation != "ListTasks" or self._story.task_id in str(result):
            self._wrong(f"{operation} is answered with {str(result)[:200]}")

    async def _answered(self, operation: str, params: Json) -> Json:
        if operation not in _STREAMS:
            return await self._client.call(operation, params)
        while True:
            with suppress(LostError):
                async with aclosing(self._client.stream(operation, params)) as events:
                    return await anext(events)
            await asyncio.sleep(RETRY_SECONDS)

    def _wrong(self, detail: str) -> None:
        self._story.wrong.append(("trespass", detail))


def attempts(task_id: str, context_id: str, target: Json) -> dict[str, Json]:
    """Return the parameters of operations on a task by their method.

    Args:
        task_id: The task.
        context_id: Its context, or "".
        target: `url` and `token` of a receiver.
    """
    which = {"id": task_id}
    config = {"taskId": task_id, "id": "stolen"}
    message = {"role": "ROLE_USER", "parts": [{"text": "stolen"}], "taskId": task_id}
    return {
        "GetTask": which,
        "CancelTask": which,
        "SubscribeToTask": which,
        "SendMessage": {"message": {**message, "messageId": f"a{task_id}"}},
        "SendStreamingMessage": {"message": {**message, "messageId": f"b{task_id}"}},
        "ListTasks": {"contextId": context_id, "pageSize": 100},
        "CreateTaskPushNotificationConfig": {**config, **target},
        "GetTaskPushNotificationConfig": config,
        "ListTaskPushNotificationConfigs": {"taskId": task_id},
        "DeleteTaskPushNotificationConfig": config,
    }


def stolen_token(story: Story) -> str:
    """Return the token of notifications of a story that another owner has asked for."""
    return f"stolen-{story.key}"
