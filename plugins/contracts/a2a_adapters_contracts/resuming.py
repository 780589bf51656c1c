"""The contract of adapters that resume the runs of dead processes."""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageConfiguration,
    TaskState,
)

from a2a_adapters.testing.local import answer_of, connect, user_message

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from a2a.client import Client
    from a2a.types import Task

_ADDRESS = re.compile(r"A2A agent at (http://\S+)/,")
_PAUSE_SECONDS = 0.05


class ResumeContract(ABC):
    """The contract of adapters with `resumes`. Subclass it and return your command.

    The server is killed in the middle of an answer and restarted.
    """

    @abstractmethod
    def command(self, storage: str, work: Path) -> Sequence[str]:
        """Return a command that serves an agent on any port with this storage.

        The agent answers in two steps. The first says `one` and appends a line with the message's
        text to the file `work / "steps"`. The second appends such a line to `work / "begun"`, waits
        until the file `work / "go"` exists, and says `two`.
        """

    async def test_finished_steps_are_not_done_again_and_all_is_said_once(
        self, tmp_path: Path
    ) -> None:
        async with self._killed(tmp_path, "first", "second") as tasks:
            (tmp_path / "go").touch()
            async with self._client(tmp_path) as (_, client):
                done = [await _until(client, task, _has_ended) for task in tasks]
        for task in done:
            assert task.status.state == TaskState.TASK_STATE_COMPLETED
            assert "".join(answer_of(task).split()) == "onetwo"
        assert sorted((tmp_path / "steps").read_text().split()) == ["first", "second"]

    async def test_what_is_gone_on_with_can_be_cancelled(self, tmp_path: Path) -> None:
        async with (
            self._killed(tmp_path, "first") as [task_id],
            self._client(tmp_path) as (_, client),
        ):
            task = await client.cancel_task(CancelTaskRequest(id=task_id))
            assert task.status.state == TaskState.TASK_STATE_CANCELED
            stored = await client.get_task(GetTaskRequest(id=task_id))
            assert stored.status.state == TaskState.TASK_STATE_CANCELED

    async def test_a_server_that_is_stopped_leaves_it_to_the_next(self, tmp_path: Path) -> None:
        async with self._killed(tmp_path, "first", kindly=True) as [task_id]:
            (tmp_path / "go").touch()
            async with self._client(tmp_path) as (_, client):
                done = await _until(client, task_id, _has_ended)
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
        assert "".join(answer_of(done).split()) == "onetwo"
        assert (tmp_path / "steps").read_text().split() == ["first"]

    @asynccontextmanager
    async def _killed(
        self, work: Path, *texts: str, kindly: bool = False
    ) -> AsyncGenerator[list[str]]:
        """Yield the tasks of a server that is killed in their second steps."""
        async with self._client(work) as (process, client):
            tasks = [await _begin(client, text) for text in texts]
            for task_id in tasks:
                await _until(client, task_id, lambda task: "one" in answer_of(task))
            while True:
                begun = work / "begun"
                if begun.exists() and len(begun.read_text().split()) >= len(texts):
                    break
                await asyncio.sleep(_PAUSE_SECONDS)
            await client.list_tasks(ListTasksRequest())  # the answers are stored before this
            if kindly:
                process.terminate()
                await process.wait()
            else:
                process.kill()
        yield tasks

    @asynccontextmanager
    async def _client(self, work: Path) -> AsyncGenerator[tuple[Process, Client]]:
        command = self.command(f"sqlite:///{work}/agents.db", work)
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        try:
            url, reading = await _address(process)
            async with connect(url) as client:
                yield process, client
            reading.cancel()
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _address(process: Process) -> tuple[str, asyncio.Task[bytes]]:
    """Return a server's address from its log, and a task that reads the rest of the log."""
    assert process.stderr is not None
    seen = ""
    async for line in process.stderr:
        seen += line.decode()
        if found := _ADDRESS.search(seen):
            return found[1], asyncio.ensure_future(process.stderr.read())
    raise AssertionError(f"the server did not start: {seen}")


async def _begin(client: Client, text: str) -> str:
    request = user_message(text, context_id=text)
    request.configuration.CopyFrom(SendMessageConfiguration(return_immediately=True))
    async for event in client.send_message(request):
        return event.task.id
    raise AssertionError("there was no task")


async def _until(client: Client, task_id: str, is_so: Callable[[Task], bool]) -> Task:
    while True:
        task = await client.get_task(GetTaskRequest(id=task_id))
        if is_so(task):
            return task
        await asyncio.sleep(_PAUSE_SECONDS)


def _has_ended(task: Task) -> bool:
    return task.status.state not in (
        TaskState.TASK_STATE_SUBMITTED,
        TaskState.TASK_STATE_WORKING,
    )
