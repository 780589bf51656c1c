"""Messages to the agent and their results; each is sent once and shared by all checks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a_adapters_check.http_client import Stream
from a2a_adapters_check.interfaces import (
    CANCEL,
    CREATE_PUSH,
    GET,
    REST,
    SEND,
    STREAM,
    SUBSCRIBE,
)
from a2a_adapters_check.operations import Outcome, call, stream
from a2a_adapters_check.receiver import receiving

if TYPE_CHECKING:
    from a2a_adapters_check.interfaces import Interface
    from a2a_adapters_check.subject import Subject

HELLO = "Hello! This is an automatic check; a very short answer is enough."
LONG = (
    "This is an automatic check that will cancel this task. Please count slowly from 1 to 1000, "
    "one number per line."
)

ENDED = {
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_REJECTED",
}
WAITING = {"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"}

_ANSWERING = 20.0
_SPARE = 4.0
"""Share of the remaining time that an answer may take; the rest is for follow-up requests."""
_SUBSCRIBED = 5.0
_CALLED_BACK = 1.0


def message(text: str, **fields: Any) -> dict[str, Any]:
    """Return the params of SendMessage."""
    sent = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **fields}
    return {"message": sent}


def greeting(interface: Interface) -> dict[str, Any]:
    """Return the params of a short message in the version of an interface."""
    params = message(HELLO)
    if not interface.is_old:
        return params
    sent = params["message"]
    if interface.binding == REST:
        sent["content"] = sent.pop("parts")
        return params
    part = {"kind": "text", "text": HELLO}
    return {"message": {**sent, "kind": "message", "role": "user", "parts": [part]}}


def _patience(subject: Subject) -> float:
    return max(1.0, min(_ANSWERING, subject.seconds_left - _SPARE))


async def streamed(subject: Subject, interface: Interface) -> tuple[Stream, Outcome | None]:
    """Send a greeting as a stream; return the events, and the error if it was refused."""

    async def send() -> tuple[Stream, Outcome | None]:
        seconds = _patience(subject)
        return await stream(subject.http, interface, STREAM, message(HELLO), seconds)

    return await subject.once(("streamed", interface), send)


async def sent(subject: Subject, interface: Interface) -> Outcome:
    """Send a greeting and return its outcome."""

    async def send() -> Outcome:
        seconds = _patience(subject)
        return await call(subject.http, interface, SEND, greeting(interface), seconds=seconds)

    return await subject.once(("sent", interface), send)


def task_of(reply: Outcome) -> dict[str, Any]:
    """Return the task in the answer to a message, {} if it has none."""
    task = reply.result.get("task") if isinstance(reply.result, dict) else None
    return task if isinstance(task, dict) else {}


def state_of(task: Any) -> str:
    """Return the state of a task or of a status update."""
    status = task.get("status") if isinstance(task, dict) else None
    state = status.get("state") if isinstance(status, dict) else None
    return state if isinstance(state, str) else ""


async def ended_task(subject: Subject, interface: Interface) -> str:
    """Return the id of a terminal task of an interface, "" if it has none."""
    task = task_of(await sent(subject, interface))
    return str(task.get("id", "")) if state_of(task) in ENDED else ""


@dataclass(slots=True)
class LongTask:
    """Observations of a long-running task.

    Attributes:
        interface: The interface that started it.
        begun: Outcome of its message.
        is_running: Whether it was still running when polled.
        subscribed: The stream of a subscription to it.
        refused: The error if the subscription failed.
        cancelled: Outcome of cancelling it.
        pushed: Outcome of configuring push notifications to this machine.
        was_called: Whether a notification reached this machine.
    """

    interface: Interface
    begun: Outcome
    is_running: bool = False
    subscribed: Stream = field(default_factory=Stream)
    refused: Outcome | None = None
    cancelled: Outcome | None = None
    pushed: Outcome | None = None
    was_called: bool = False


async def long_task(subject: Subject) -> LongTask | None:
    """Start a task, subscribe to it and cancel it; None if no interface allows that."""

    async def live() -> LongTask | None:
        current = await subject.current()
        return await _live(subject, current[0]) if current else None

    return await subject.once("long", live)


async def _live(subject: Subject, interface: Interface) -> LongTask:
    params = {**message(LONG), "configuration": {"returnImmediately": True}}
    seconds = _patience(subject)
    begun = await call(subject.http, interface, SEND, params, seconds=seconds)
    found = LongTask(interface, begun)
    task = task_of(begun)
    if not task.get("id") or state_of(task) in ENDED:
        return found
    name = str(task["id"])
    async with receiving() as receiver:
        if subject.declares("pushNotifications"):
            config = {"taskId": name, "id": str(uuid4()), "url": receiver.url}
            found.pushed = await call(subject.http, interface, CREATE_PUSH, config)
        await _follow(subject, found, name)
        if found.pushed is not None and found.pushed.error is None:
            found.was_called = await receiver.was_called(_CALLED_BACK)
    return found


async def _follow(subject: Subject, found: LongTask, name: str) -> None:
    began = asyncio.Event()
    reading = None
    if subject.declares("streaming"):
        reading = asyncio.create_task(
            stream(subject.http, found.interface, SUBSCRIBE, {"id": name}, _SUBSCRIBED, began)
        )
        await began.wait()
    now = await call(subject.http, found.interface, GET, {"id": name})
    found.is_running = state_of(now.result) not in ENDED and now.result is not None
    found.cancelled = await call(subject.http, found.interface, CANCEL, {"id": name})
    if reading is not None:
        found.subscribed, found.refused = await reading
