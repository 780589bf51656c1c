"""The contract of adapters as pytest classes."""

from __future__ import annotations

import asyncio
import atexit
import json
import re
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args
from uuid import uuid4

from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest, TaskState
from a2a.utils.errors import (
    A2AError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict

from a2a_adapters.contract.errors import ErrorCategory
from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.contract.limits import Limits
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.serving.app import build_app
from a2a_adapters.serving.opening import is_closed
from a2a_adapters.serving.options import ServerOptions
from a2a_adapters.testing.local import answer_of, connect, running, send, stream, user_message

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Sequence

    from a2a.client import Client
    from a2a.types import StreamResponse, Task
    from starlette.types import ASGIApp

_CHANGING = re.compile(
    r"Error id: [0-9a-f-]+|[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"  # ids
    r'|[0-9-]{10}T[0-9:.]{8,}(?:Z|[+]00:00)|_ms": [0-9.]+|[0-9.]+ m?s\b'  # times
)
_LIMITED = ServerOptions(limits=Limits(run_seconds=0.3))


class _Served:
    """Serves targets for the contracts."""

    def storage(self) -> str:
        """Return the URL of the server's storage; override to test with another one."""
        return "memory:"

    def app(self, target: object, options: ServerOptions | None = None) -> ASGIApp:
        """Return the app that serves `target`; override to test it on another server."""
        options = replace(options or ServerOptions(), storage=self.storage())
        # A unique name isolates each app from earlier ones in the same storage.
        return build_app(target, name=f"contract-{uuid4().hex}", options=options)

    @asynccontextmanager
    async def client(
        self, target: object, options: ServerOptions | None = None
    ) -> AsyncGenerator[Client]:
        """Yield a client of `target`."""
        async with running(self.app(target, options)) as url, connect(url) as client:
            yield client


class AdapterContract(_Served, ABC):
    """The contract of all adapters. Subclass it and return your targets."""

    secret = "hunter2"
    """The text in the exceptions of failing targets."""

    @abstractmethod
    def echo(self) -> object:
        """Return a target that answers with the text it receives."""

    @abstractmethod
    def silent(self) -> object:
        """Return a target whose answer is empty."""

    @abstractmethod
    def failing(self) -> object:
        """Return a target that immediately raises an exception with `secret`."""

    @abstractmethod
    def failing_midway(self) -> object:
        """Return a target that streams the text `begun` and then raises the same exception."""

    @abstractmethod
    def endless(self) -> object:
        """Return a target that never ends."""

    async def test_answers(self) -> None:
        async with self.client(self.echo()) as client:
            task = await send(client, user_message("hello"))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert ["".join(part.text for part in a.parts) for a in task.artifacts] == ["hello"]
        assert not task.status.HasField("message"), "the answer is sent once, as an artifact"

    async def test_it_can_be_started_again_in_another_event_loop(self) -> None:
        target = self.echo()
        app = self.app(target if is_closed(target) else installed_plugins().adapt(target))
        texts = [f"conversation {n}" for n in range(8)]  # some have to wait, in most adapters

        async def talk() -> list[str]:
            async with running(app) as url, connect(url) as client:
                tasks = await asyncio.gather(*(send(client, user_message(text)) for text in texts))
            return [answer_of(task) for task in tasks]

        for _ in range(2):
            assert await asyncio.to_thread(asyncio.run, talk()) == texts

    async def test_a_stream_holds_the_whole_answer_once(self) -> None:
        async with self.client(self.echo()) as client:
            events = await stream(client, user_message("one two three"))
        artifacts: dict[str, str] = {}
        ended = set()
        for event in events:
            if event.HasField("artifact_update"):
                update = event.artifact_update
                text = "".join(part.text for part in update.artifact.parts)
                artifact_id = update.artifact.artifact_id
                before = artifacts.get(artifact_id, "") if update.append else ""
                artifacts[artifact_id] = before + text
                if update.last_chunk:
                    ended.add(artifact_id)
        assert events[0].HasField("task")
        assert list(artifacts.values()) == ["one two three"]
        assert ended == set(artifacts), "every artifact is closed"
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED

    async def test_two_callers_with_one_context_id(self) -> None:
        async with (
            running(self.app(self.echo())) as url,
            connect(url, user="ann") as ann,
            connect(url, user="bob") as bob,
        ):
            tasks = await asyncio.gather(
                send(ann, user_message("from ann", context_id="shared")),
                send(bob, user_message("from bob", context_id="shared")),
            )
            assert [answer_of(task) for task in tasks] == ["from ann", "from bob"]
            await _expect(TaskNotFoundError, bob.get_task(GetTaskRequest(id=tasks[0].id)))

    async def test_one_caller_with_many_conversations_at_once(self) -> None:
        async with self.client(self.echo()) as client:
            texts = [f"conversation {n}" for n in range(8)]
            tasks = await asyncio.gather(*(send(client, user_message(text)) for text in texts))
        assert [answer_of(task) for task in tasks] == texts
        assert len({task.context_id for task in tasks}) == len(texts)

    async def test_many_messages_of_one_conversation_at_once(self) -> None:
        async with self.client(self.echo()) as client:
            requests = [user_message(str(n), context_id="line") for n in range(5)]
            tasks = await asyncio.gather(*(send(client, request) for request in requests))
        assert [answer_of(task) for task in tasks] == list("01234")

    async def test_a_client_that_goes_away_can_subscribe_again(self) -> None:
        async with self.client(self.endless()) as client:
            task_id = await _begin(client)
            events = client.subscribe(SubscribeToTaskRequest(id=task_id))
            assert (await anext(events)).task.id == task_id
            await client.cancel_task(CancelTaskRequest(id=task_id))
            last = [event async for event in events][-1]
        assert last.status_update.status.state == TaskState.TASK_STATE_CANCELED

    async def test_cancel(self) -> None:
        async with self.client(self.endless()) as client:
            unknown = client.cancel_task(CancelTaskRequest(id="unknown"))
            await _expect(TaskNotFoundError, unknown)
            task_id = await _begin(client)
            task = await client.cancel_task(CancelTaskRequest(id=task_id))
            assert task.status.state == TaskState.TASK_STATE_CANCELED
            again = client.cancel_task(CancelTaskRequest(id=task_id))
            await _expect(TaskNotCancelableError, again)
            stored = await client.get_task(GetTaskRequest(id=task_id))
            assert stored.status.state == TaskState.TASK_STATE_CANCELED

    async def test_a_conversation_goes_on_after_a_cancel(self) -> None:
        async with self.client(self.endless()) as client:
            for _ in range(2):
                task_id = await _begin(client, context_id="one")
                await client.cancel_task(CancelTaskRequest(id=task_id))

    async def test_a_finished_task_takes_no_more_messages(self) -> None:
        async with self.client(self.echo()) as client:
            task = await send(client, user_message("hello"))
            more = stream(client, user_message("more", task_id=task.id))
            await _expect(UnsupportedOperationError, more)

    async def test_silence_completes_the_task(self) -> None:
        async with self.client(self.silent()) as client:
            task = await send(client, user_message("hello"))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert answer_of(task) == ""

    async def test_a_failure_discloses_nothing(self) -> None:
        async with self.client(self.failing()) as client:
            events = await stream(client, user_message("hello"))
            assert events[-1].status_update.status.state == TaskState.TASK_STATE_FAILED
            last = events[-1].status_update
            error = MessageToDict(last.metadata)["error"]
            assert error["id"] in last.status.message.parts[0].text
            assert error["category"] in get_args(ErrorCategory)
            assert self.secret not in str(events)

    async def test_a_failure_midway_keeps_the_streamed_text(self) -> None:
        async with self.client(self.failing_midway()) as client:
            task = await send(client, user_message("hello"))
        assert task.status.state == TaskState.TASK_STATE_FAILED
        assert answer_of(task) == "begun"
        assert self.secret not in str(task)

    async def test_a_run_that_never_ends_is_stopped(self) -> None:
        async with self.client(self.endless(), _LIMITED) as client:
            task = await send(client, user_message("hello"))
        assert task.status.state == TaskState.TASK_STATE_FAILED
        assert "0.3 s" in task.status.message.parts[0].text


class AnswerContract(_Served, ABC):
    """The contract of adapters of frameworks that change, retry or block what they have streamed.

    The answer of a task is what the framework's own call returns, and clients never see what a
    guardrail replaced or blocked. Override the methods that your framework has the means for;
    without a target, the default, a case is skipped.
    """

    blocked = "how to build a bomb"
    """The text that guardrails replace or block; it may be streamed word by word."""

    def guarded(self) -> object | None:
        """Return a target whose guardrail replaces `blocked`, once said, by `I cannot help.`."""

    def blocking(self) -> object | None:
        """Return a target that streams `blocked`, whereupon a guardrail ends the run."""

    def retrying(self) -> object | None:
        """Return a target that fails after the text `half an `, tries again, and says `an answer`.

        Its framework, not the target itself, tries again.
        """

    async def test_replaced_text_never_leaves_the_server(self) -> None:
        if (target := self.guarded()) is None:
            return
        async with self.client(target) as client:
            events = await stream(client, user_message("hello"))
            task = await client.get_task(GetTaskRequest(id=events[0].task.id))
        assert _word(self.blocked) not in str(events)
        assert _folded(events) == [answer_of(task)] == ["I cannot help."]
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED

    async def test_replaced_text_is_corrected_where_it_is_not_held_back(self) -> None:
        if (target := self.guarded()) is None:
            return
        async with self.client(target, ServerOptions(hold_text="never")) as client:
            events = await stream(client, user_message("hello"))
            task = await client.get_task(GetTaskRequest(id=events[0].task.id))
        assert _folded(events) == [answer_of(task)] == ["I cannot help."]
        assert _word(self.blocked) not in str(task)

    async def test_a_blocked_run_is_rejected_without_its_text(self) -> None:
        if (target := self.blocking()) is None:
            return
        async with self.client(target) as client:
            events = await stream(client, user_message("hello"))
            task = await client.get_task(GetTaskRequest(id=events[0].task.id))
        assert task.status.state == TaskState.TASK_STATE_REJECTED
        assert task.status.message.parts[0].text
        assert _word(self.blocked) not in f"{events}{task}"

    async def test_the_text_of_a_failed_attempt_is_withdrawn(self) -> None:
        if (target := self.retrying()) is None:
            return
        async with self.client(target) as client:
            events = await stream(client, user_message("hello"))
            task = await client.get_task(GetTaskRequest(id=events[0].task.id))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert _folded(events) == [answer_of(task)] == ["an answer"]


def _word(text: str) -> str:
    """Return the longest word of a text."""
    return max(text.split(), key=len)


def _folded(events: Sequence[StreamResponse]) -> list[str]:
    """Return the texts of the artifacts that a client has after a stream."""
    texts: dict[str, str] = {}
    for update in (each.artifact_update for each in events if each.HasField("artifact_update")):
        text = "".join(part.text for part in update.artifact.parts)
        artifact_id = update.artifact.artifact_id
        texts[artifact_id] = texts.get(artifact_id, "") + text if update.append else text
    return list(texts.values())


class InputRequiredContract(_Served, ABC):
    """The contract of adapters whose targets can ask their caller questions."""

    @abstractmethod
    def asking(self) -> object:
        """Return a target that asks `which city?` and answers with the text of the reply."""

    async def test_an_answer_resumes_the_same_task(self) -> None:
        async with self.client(self.asking()) as client:
            waiting = await send(client, user_message("book"))
            assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            assert "which city?" in waiting.status.message.parts[0].text
            done = await send(client, user_message("Paris", task_id=waiting.id))
        assert done.id == waiting.id
        assert done.context_id == waiting.context_id
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
        assert "Paris" in answer_of(done)

    async def test_many_callers_wait_at_once(self) -> None:
        async with self.client(self.asking()) as client:
            waiting = await asyncio.gather(*(send(client, user_message("go")) for _ in range(5)))
            answers = [user_message(f"city {n}", task_id=t.id) for n, t in enumerate(waiting)]
            done = await asyncio.gather(*(send(client, answer) for answer in answers))
        assert [f"city {n}" in answer_of(task) for n, task in enumerate(done)] == [True] * 5

    async def test_a_waiting_task_can_be_cancelled(self) -> None:
        async with self.client(self.asking()) as client:
            waiting = await send(client, user_message("book"))
            task = await client.cancel_task(CancelTaskRequest(id=waiting.id))
            assert task.status.state == TaskState.TASK_STATE_CANCELED
            late = stream(client, user_message("Paris", task_id=waiting.id))
            await _expect(UnsupportedOperationError, late)

    async def test_a_conversation_goes_on_after_an_unanswered_question(self) -> None:
        async with self.client(self.asking()) as client:
            unanswered = await send(client, user_message("book", context_id="one"))
            await client.cancel_task(CancelTaskRequest(id=unanswered.id))
            waiting = await send(client, user_message("book", context_id="one"))
            assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            done = await send(client, user_message("Rome", task_id=waiting.id))
        assert "Rome" in answer_of(done)


class ToolContract(_Served, ABC):
    """The contract of adapters whose targets call tools."""

    secret = "hunter2"
    """The text in the exception of the failing tool."""

    prefix = ""
    """What the framework puts before the names of tools."""

    @abstractmethod
    def using_tools(self) -> object:
        """Return a target that calls the tools `look` and `breaks`, and then answers.

        `breaks` raises an exception with `secret`, after which the target continues.
        """

    def ended_by_a_tool(self) -> object | None:
        """Return a target that calls the tools `look` and `breaks`, and fails like `breaks`.

        None, the default, means that exceptions of tools never end a run of the framework.
        """
        return None

    async def test_every_tool_call_gets_its_result(self) -> None:
        results, events = await self._results(self.using_tools())
        assert {result["name"] for result in results if result["is_error"]} == {
            f"{self.prefix}breaks"
        }
        assert not [item for item in results if item["is_error"] and item["result"] is not None]
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED

    async def test_a_tool_call_that_ends_the_run_gets_its_result(self) -> None:
        if (target := self.ended_by_a_tool()) is None:
            return
        results, events = await self._results(target)
        [broken] = [result for result in results if result["name"] == f"{self.prefix}breaks"]
        assert (broken["is_error"], broken["result"]) == (True, None)
        assert self.secret not in str(events)
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_FAILED

    async def _results(self, target: object) -> tuple[list[Any], list[StreamResponse]]:
        """Return the results of a target's tool calls, and all events."""
        extensions = (PROGRESS_EXTENSION,)
        async with (
            running(self.app(target)) as url,
            connect(url, extensions=extensions) as client,
        ):
            events = await stream(client, user_message("hello"))
        news = [
            MessageToDict(event.status_update.status.message.parts[-1].data)
            for event in events
            if PROGRESS_EXTENSION in event.status_update.status.message.extensions
        ]
        calls = [item for item in news if item["type"] == "tool_call"]
        results = [item for item in news if item["type"] == "tool_result"]
        names = {f"{self.prefix}look", f"{self.prefix}breaks"}
        assert names <= {call["name"] for call in calls}
        pairs = [sorted((item["id"], item["name"]) for item in kind) for kind in (calls, results)]
        assert pairs[0] == pairs[1], "one result for each call, of the same id and name"
        assert self.secret not in str(results)
        return results, events


class OnStorage(_Served, ABC):
    """Runs a contract with another storage, and compares its answers with those in memory.

    Combine it with your contract and return the storage's URL, as `OnSqlite` does.
    """

    @abstractmethod
    def storage(self) -> str:
        """Return the URL of the storage, which several apps use in succession."""

    async def test_the_answers_are_those_in_memory(self) -> None:
        for name in ("echo", "silent", "failing", "failing_midway", "asking"):
            if (make := getattr(self, name, None)) is not None:
                stored = await _dialogue(self.app(make()))
                in_memory = ServerOptions(storage="memory:")
                answers = await _dialogue(build_app(make(), name="contract", options=in_memory))
                assert stored == answers, name


class OnSqlite(OnStorage):
    """Runs a contract with SQLite: `class TestMineOnSqlite(OnSqlite, TestMine): ...`."""

    def storage(self) -> str:
        """Return the URL of a file that is deleted at the end of this process."""
        return _sqlite()


@cache
def _sqlite() -> str:
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    return f"sqlite:///{folder.name}/contract.db"


async def _dialogue(app: ASGIApp) -> list[str]:
    """Return the answers of two tasks of one conversation, without ids and times."""
    answers: list[str] = []
    async with running(app) as url, connect(url) as client:
        for text in ("hello", "again"):
            task = await send(client, user_message(text, context_id="dialogue"))
            answers.append(_without_ids(task))
            while task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
                task = await send(client, user_message("Paris", task_id=task.id))
                answers.append(_without_ids(task))
    return answers


def _without_ids(task: Task) -> str:
    """Return the content of a task without ids and times."""
    status = [TaskState.Name(task.status.state), *map(MessageToDict, task.status.message.parts)]
    artifacts = [
        [artifact.name, *map(MessageToDict, artifact.parts)] for artifact in task.artifacts
    ]
    answers = [status, artifacts, MessageToDict(task.metadata)]
    return _CHANGING.sub("", json.dumps(answers, sort_keys=True))


async def _begin(client: Client, context_id: str = "") -> str:
    """Send a message, leave its stream after the task has appeared, and return the task's id."""
    request = user_message("hello", context_id=context_id)
    async for event in client.send_message(request):
        return event.task.id
    raise AssertionError("the stream was empty")


async def _expect(error: type[A2AError], call: Awaitable[object]) -> None:
    try:
        await call
    except error:
        return
    raise AssertionError(f"expected {error.__name__}")
