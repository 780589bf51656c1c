"""Receivers of push notifications, and agents that notify them."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

from a2a.types import (
    SendMessageConfiguration,
    TaskPushNotificationConfig,
)
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters import (
    InputRequired,
    Limits,
    OutboundPolicy,
    PushOptions,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import connect, running, user_message
from tests.support.processes import PATIENCE

OPEN = OutboundPolicy(allow_private=True)
BINDINGS = ["JSONRPC", "HTTP+JSON"]


class Inbox:
    """A web server that records requests and answers as configured."""

    def __init__(self):
        self.url = ""
        self.headers = []
        self.bodies = []
        self.answers = []
        self.most = 0
        """Maximum number of concurrent requests."""
        self._present = 0
        self.is_open = asyncio.Event()
        self.is_open.set()
        self._news = asyncio.Condition()

    async def receive(self, request):
        body = json.loads(await request.body())
        self._present += 1
        self.most = max(self.most, self._present)
        await self.is_open.wait()
        self._present -= 1
        async with self._news:
            self.headers.append(request.headers)
            self.bodies.append(body)
            self._news.notify_all()
        answer = self.answers.pop(0) if self.answers else 200
        return Response(status_code=answer) if isinstance(answer, int) else answer

    async def until(self, condition):
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(lambda: self.bodies and condition(self.bodies))

    async def until_over(self):
        await self.until(lambda bodies: state_in(bodies[-1]) in OVER)


OVER = {"TASK_STATE_COMPLETED", "TASK_STATE_CANCELED", "TASK_STATE_FAILED", "completed"}


def state_in(body):
    """Return the task state in a notification, None if it has none."""
    for event in (body.get("task"), body.get("statusUpdate"), body):
        if event and "status" in event:
            return event["status"]["state"]
    return None


def task_in(body):
    """Return the task id in a notification."""
    [of] = body.values()
    return of.get("taskId") or of["id"]


def text_in(bodies):
    """Return the text assembled from notifications."""
    text = ""
    for body in bodies:
        if "artifactUpdate" in body:
            update = body["artifactUpdate"]
            chunk = "".join(part.get("text", "") for part in update["artifact"]["parts"])
            text = text + chunk if update.get("append") else chunk
        elif body.get("task", {}).get("artifacts"):
            text = body["task"]["artifacts"][0]["parts"][0]["text"]
    return text


@asynccontextmanager
async def inbox(box=None):
    box = box or Inbox()
    async with running(Starlette(routes=[Route("/hook", box.receive, methods=["POST"])])) as url:
        box.url = f"{url}/hook"
        try:
            yield box
        finally:
            box.is_open.set()


@asynccontextmanager
async def agent(target, binding="JSONRPC", *, user="", limits=None, task_store=None, **push):
    options = ServerOptions(
        push=PushOptions(
            **{"outbound": OPEN, "pause_seconds": 0.01, "attempt_seconds": PATIENCE} | push
        ),
        limits=limits or Limits(),
        task_store=task_store,
    )
    async with (
        running(build_app(target, options=options)) as url,
        connect(url, binding=binding, user=user) as client,
    ):
        yield client


def notifying(url, text="hello", **fields):
    request = user_message(text)
    config = TaskPushNotificationConfig(url=url, **fields)
    request.configuration.CopyFrom(
        SendMessageConfiguration(task_push_notification_config=config, return_immediately=True)
    )
    return request


async def talk(text):
    for word in text.split():
        yield f"{word} "


def heard_by(box):
    """Return an agent that sends each word once the last one was received."""

    async def speak(text):
        for word in text.split():
            before = len(box.bodies)
            yield f"{word} "
            await box.until(lambda bodies, before=before: len(bodies) > before)

    return speak


async def ask(text):
    answer = yield InputRequired("Which city?")
    yield f"Off to {answer.text}"
