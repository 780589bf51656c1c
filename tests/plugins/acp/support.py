"""Agents for the tests, and what they are asked."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from a2a.types import CancelTaskRequest, TaskState
from a2a_adapters_acp import AcpAgent

from a2a_adapters import (
    Progress,
    RemoteAgent,
    RemoteOptions,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import connect, running, send, user_message

SCRIPT = Path(__file__).with_name("scripted_agent.py")
COMPLETED = TaskState.TASK_STATE_COMPLETED
INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED
FAILED = TaskState.TASK_STATE_FAILED


def scripted(folder, mode="", **options):
    """Return a scripted agent that works in a folder."""
    home = folder.parent / f"{folder.name}-home"
    home.mkdir(exist_ok=True)
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-I", "-S", str(SCRIPT), *([mode] if mode else [])]
    options.setdefault("env", {"AGENT_HOME": str(home)})
    return AcpAgent(command, cwd=folder, **options)


@asynccontextmanager
async def served(agent, options=None):
    """Yield a client of an agent."""
    async with running(build_app(agent, name="coder", options=options)) as url, connect(url) as one:
        yield one


async def answered(agent, text, options=None, **more):
    """Serve an agent, send it one message, and return the task."""
    async with served(agent, options) as client:
        return await send(client, user_message(text, **more))


async def asked(client, text, **more):
    """Send a message; return the task, which waits for its caller then."""
    task = await send(client, user_message(text, **more))
    assert task.status.state == INPUT_REQUIRED, task
    return task


def question_of(task):
    return task.status.message.parts[0].text


async def begun(client, text, **more):
    """Send a message whose answer does not end; return its task's id, and what was said first."""
    events = client.send_message(user_message(text, **more))
    async for event in events:
        if event.HasField("task"):
            task_id = event.task.id
        if event.HasField("artifact_update"):
            return task_id, event.artifact_update.artifact.parts[0].text
    raise AssertionError("it has ended")


async def cancel(client, task_id):
    return await client.cancel_task(CancelTaskRequest(id=task_id))


def is_running(pid):
    """Whether there is a process with this id that is not a zombie."""
    try:
        return b") Z" not in Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False


async def until(is_so):
    """Wait for something of which no event tells."""
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def progress(agent, text, options=None):
    """Return the progress that is reported while a message of the context "one" is answered."""
    reported = Progress | ToolCall | ToolResult
    with_progress = RemoteOptions(progress=True)
    async with (
        running(build_app(agent, name="coder", options=options)) as url,
        RemoteAgent(url, options=with_progress) as remote,
    ):
        events = remote.conversation("one", context_id="one").stream(text)
        return [event async for event in events if isinstance(event, reported)]
