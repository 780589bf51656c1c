"""Cancels a task during a blocking call over HTTP, and checks logs and metrics."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import TYPE_CHECKING

import httpx
from a2a.types import CancelTaskRequest, TaskState

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import connect, running, user_message

if TYPE_CHECKING:
    import pytest


class Blocking:
    """A call that blocks a thread until it is released."""

    def __init__(self) -> None:
        self._started, self._go_on = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self._started.set()
        self._go_on.wait(60)
        return "late"

    async def started(self) -> None:
        assert await asyncio.to_thread(self._started.wait, 20)

    def let_go(self) -> None:
        self._go_on.set()


async def outliving(http: httpx.AsyncClient) -> int:
    """Return the metric."""
    found = re.search(
        r"^a2a_outliving_calls (\d+)", (await http.get("/metrics")).text, re.MULTILINE
    )
    assert found
    return int(found[1])


async def check_it_learns_of_cancellation(
    target: object, blocking: Blocking, caplog: pytest.LogCaptureFixture
) -> None:
    """Cancel a task of `target` during `blocking`; assert that log and metrics report it."""
    app = build_app(target, options=ServerOptions(metrics=True))
    async with (
        running(app) as url,
        connect(url) as client,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
    ):
        before = await outliving(http)
        events = aiter(client.send_message(user_message("hi")))
        task = (await anext(events)).task
        await blocking.started()
        cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))
        assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
        async for _ in events:
            pass
        while await outliving(http) == before:  # the run is left in its own time
            continue
        assert await outliving(http) == before + 1
        assert (
            f"1 blocking call(s) of task {task.id} continue although it was stopped" in caplog.text
        )
        blocking.let_go()
        while await outliving(http) > before:
            continue
