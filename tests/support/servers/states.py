"""Agents whose tasks do not simply complete."""

from __future__ import annotations

from a2a.server.agent_execution import RequestContext
from a2a.server.tasks import TaskUpdater
from a2a.types import TaskState
from starlette.types import ASGIApp

from tests.support.servers.sdk import Scripted, scripted, sdk_app, text

QUESTION = "Which city?"
SECOND_QUESTION = "When?"
LOGIN = "Log in at https://login.example/start"


@scripted
async def asks_city(context: RequestContext, task: TaskUpdater) -> None:
    """Asks `QUESTION` (input-required); the next message of the task, `X`, gets `Booked: X`."""
    if context.current_task is None:
        await task.requires_input(task.new_agent_message(text(QUESTION)))
    else:
        await task.add_artifact(text(f"Booked: {context.get_user_input()}"))
        await task.complete()


@scripted
async def asks_twice(context: RequestContext, task: TaskUpdater) -> None:
    """Asks `QUESTION` and then `SECOND_QUESTION`; the second answer, `Y`, gets `Booked: Y`."""
    if context.current_task is None:
        await task.requires_input(task.new_agent_message(text(QUESTION)))
    elif context.current_task.status.message.parts[0].text == QUESTION:
        await task.requires_input(task.new_agent_message(text(SECOND_QUESTION)))
    else:
        await task.add_artifact(text(f"Booked: {context.get_user_input()}"))
        await task.complete()


@scripted
async def asks_login(context: RequestContext, task: TaskUpdater) -> None:
    """Requires a login (auth-required); any next message gets `Welcome`."""
    if context.current_task is None:
        await task.requires_auth(task.new_agent_message(text(LOGIN)))
    else:
        await task.add_artifact(text("Welcome"))
        await task.complete()


@scripted
async def fails(context: RequestContext, task: TaskUpdater) -> None:
    """Streams `begun` as its artifact and fails with the status message `Out of paper.`."""
    await task.start_work()
    await task.add_artifact(text("begun"))
    await task.failed(task.new_agent_message(text("Out of paper.")))


def fails_silently() -> ASGIApp:
    """Fails without a message."""
    return _ends(TaskState.TASK_STATE_FAILED, "")


def rejects() -> ASGIApp:
    """Rejects every message: `Not my job.`."""
    return _ends(TaskState.TASK_STATE_REJECTED, "Not my job.")


def cancels() -> ASGIApp:
    """Cancels its task itself: `The shop is closed.`."""
    return _ends(TaskState.TASK_STATE_CANCELED, "The shop is closed.")


@scripted
async def crashes(context: RequestContext, task: TaskUpdater) -> None:
    """Raises midway: a2a-sdk then sends a JSON-RPC error instead of a status."""
    await task.start_work()
    raise RuntimeError("disk on fire")


def _ends(state: TaskState, words: str) -> ASGIApp:
    async def script(context: RequestContext, task: TaskUpdater) -> None:
        said = task.new_agent_message(text(words)) if words else None
        await task.update_status(state, said)

    return sdk_app(Scripted(script))
