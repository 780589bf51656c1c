"""Compares what served programs answer with what their framework's own call returns.

Each program is run bare and then served in four ways. The answers have to be equal, and a text that
a guardrail blocks has to be in nothing that the server sends, stores or logs.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import httpx
import pytest

from a2a_adapters import Data, File, PushOptions, ServerOptions, Text, build_app
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters.testing import running
from tests.support.inbox import OPEN, Inbox, inbox, state_in
from tests.support.sqlite import new_database

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_V1 = {"A2A-Version": "1.0"}
_REPORTED = {**_V1, "A2A-Extensions": PROGRESS_EXTENSION}
_REPORTED_V03 = {"X-A2A-Extensions": PROGRESS_EXTENSION}

_ACTIVE = {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A small program of a framework, and what its callers get.

    Attributes:
        name: Says what it shows.
        target: Makes the object that is served, and run bare.
        bare: Runs a target by the framework's own call, message by message, and returns its last
            answer: text, parts, a value that becomes data, or a list of these in order.
        messages: What the caller says; all but the first are replies to questions.
        state: The state of the task at last.
        blocked: A text that may be nowhere.
        is_kept: Whether the framework itself stores `blocked`, such as in its checkpoints.
        is_reported: Whether `blocked` is reported as progress, such as reasoning.
        differs: The served answer, where it differs from the bare one.
        because: Why it differs.
    """

    name: str
    target: Callable[[], object]
    bare: Callable[[Any], Awaitable[object]]
    messages: tuple[str, ...] = ("hello",)
    state: str = "completed"
    blocked: str = ""
    is_kept: bool = False
    is_reported: bool = False
    differs: object = None
    because: str = ""

    def __str__(self) -> str:
        return self.name.replace(" ", "_")


async def check(
    program: Program, ways: Ways, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Run a program bare and in these ways, and compare the answers."""
    bare = _parts(await program.bare(program.target()))
    if program.because:
        expected = _parts(program.differs)
        assert expected != bare, "it does not differ any more"
    else:
        expected = bare
    caplog.set_level(logging.DEBUG, "a2a_adapters")
    leak = _Leak(program.blocked, _texts([*program.messages, *expected]))
    for way, storage in ways:
        async with inbox() as box:
            options = ServerOptions(
                storage=new_database(folder / f"{way.__name__}.db") if storage else "memory:",
                push=PushOptions(outbound=OPEN),
            )
            app = Recorded(build_app(program.target(), name="program", options=options))
            async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
                task = await _dialogue(http, way, program, box)
        found = _artifacts(task)
        if way is _stream_v03:  # data has another form in 0.3
            assert _texts(found) == _texts(expected), way.__name__
        else:
            assert found == expected, way.__name__
        assert task["status"]["state"] == f"TASK_STATE_{_name(program.state)}", task["status"]
        sent = leak.found_in(app.sent.decode(errors="replace"))
        if way is _stream:
            assert bool(sent) is program.is_reported, sent
        elif way is _send or not program.is_reported:
            assert not sent, (way.__name__, sent)
        assert not leak.found_in(json.dumps(box.bodies, ensure_ascii=False)), way.__name__
    assert not leak.found_in(caplog.text), caplog.text
    assert bool(leak.found_in(*_contents(folder))) is program.is_kept


class _Leak:
    """Finds a text that may be nowhere, also if just a part of it is there, or in pieces."""

    def __init__(self, blocked: str, allowed: list[str]) -> None:
        known = " ".join(allowed)
        self._words = [word for word in blocked.split() if len(word) > 2 and word not in known]
        assert self._words or not blocked, "every word of the blocked text is allowed"

    def found_in(self, *contents: str) -> list[str]:
        """Return the words that are in the contents, or in the strings of their JSON in a row."""
        texts = [*contents, *_strings(contents)]
        long = [each for each in self._words if len(each) > 3 and any(each in t for t in texts)]
        pieces = "\n".join(re.findall(_STRING, "\n".join(contents)))
        return long + [each for each in self._words if re.search(rf"\b{each}\b", pieces)]


_STRING = r'"((?:[^"\\]|\\.)*)"'


def _strings(contents: Iterable[str]) -> list[str]:
    """Return the strings of each JSON key, joined, as chunks may end within a word."""
    joined: dict[str, list[str]] = defaultdict(list)
    for content in contents:
        for key, text in re.findall(rf"{_STRING}: ?{_STRING}", content):
            joined[key].append(text)
    return ["".join(texts) for texts in joined.values()]


class Recorded:
    """An app with all bytes that it has sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.sent = b""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def recorded(message: Message) -> None:
            self.sent += message.get("body", b"")
            await send(message)

        await self._app(scope, receive, recorded)


def _contents(folder: Path) -> list[str]:
    """Return what the files hold, and the rows of databases in order."""
    contents = []
    for path in (each for each in folder.iterdir() if each.is_file()):
        contents.append(path.read_bytes().decode(errors="replace"))
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as database:
                contents += _rows(database)
    return contents


def _rows(database: sqlite3.Connection) -> list[str]:
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return [
        value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        for (table,) in tables
        for row in database.execute(f'SELECT * FROM "{table}"')
        for value in row
    ]


def _name(state: str) -> str:
    return state.upper().replace("-", "_")


async def _dialogue(http: httpx.AsyncClient, way: Any, program: Program, box: Inbox) -> Any:
    """Send all messages, each as a reply to the question before, and return the final task."""
    shown: dict[str, Any] = {}
    for text in program.messages:
        shown = await way(http, text, shown, box.url)
    await box.until(lambda bodies: _name(state_in(bodies[-1]) or "").endswith(_name(program.state)))
    stored = await _rpc(http, "GetTask", {"id": shown["id"]})
    assert "artifacts" not in shown or _artifacts(stored) == _artifacts(shown), way.__name__
    return stored


async def _rpc(http: httpx.AsyncClient, method: str, params: object) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = (await http.post("/", json=body, headers=_V1)).json()
    assert "result" in answer, answer
    return answer["result"]


def _message(text: str, task: Any) -> dict[str, object]:
    ids = {"taskId": task["id"]} if task else {}
    return {"messageId": uuid4().hex, "role": "ROLE_USER", "parts": [{"text": text}], **ids}


def _params(text: str, task: Any, hook: str, **configuration: object) -> dict[str, object]:
    config = {"taskPushNotificationConfig": {"url": hook}, **configuration}
    return {"message": _message(text, task), "configuration": config}


async def _send(http: httpx.AsyncClient, text: str, task: Any, hook: str) -> Any:
    result = await _rpc(http, "SendMessage", _params(text, task, hook))
    return {"artifacts": [], **result["task"]}


async def _stream(http: httpx.AsyncClient, text: str, task: Any, hook: str) -> Any:
    """Send a message with a stream of its progress."""
    params = _params(text, task, hook)
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params}
    async with http.stream("POST", "/", json=body, headers=_REPORTED) as response:
        return await _folded(response, task)


async def _subscribe(http: httpx.AsyncClient, text: str, task: Any, hook: str) -> Any:
    """Send a message without waiting, and read the task's stream, with progress, until it rests."""
    body = _params(text, task, hook, returnImmediately=True)
    task = (await http.post("/message:send", json=body, headers=_REPORTED)).json()["task"]
    url = f"/tasks/{task['id']}:subscribe"
    async with http.stream("GET", url, headers=_REPORTED) as response:
        if response.status_code == 200:
            return await _folded(response, task)
    return {"id": task["id"]}


async def _stream_v03(http: httpx.AsyncClient, text: str, task: Any, hook: str) -> Any:
    """Send a message of A2A 0.3 with a stream of its progress."""
    ids = {"taskId": task["id"]} if task else {}
    parts = [{"kind": "text", "text": text}]
    message = {"kind": "message", "messageId": uuid4().hex, "role": "user", "parts": parts, **ids}
    params = {"message": message, "configuration": {"pushNotificationConfig": {"url": hook}}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": params}
    async with http.stream("POST", "/", json=body, headers=_REPORTED_V03) as response:
        events = [event["result"] async for event in _events(response)]
    return {"id": events[0].get("id") or events[0]["taskId"]}


async def _events(response: httpx.Response) -> AsyncIterator[Any]:
    async for line in response.aiter_lines():
        if line.startswith("data:"):
            yield json.loads(line.removeprefix("data:"))


async def _folded(response: httpx.Response, known: Any) -> Any:
    """Fold a stream into the task that its client then has, until the task rests."""
    task: dict[str, Any] = {"artifacts": [], **known}
    async for event in _events(response):
        news = event.get("result", event)
        if "task" in news:
            task = {"artifacts": [], **news["task"]}
        elif "statusUpdate" in news:
            task["status"] = news["statusUpdate"]["status"]
        elif "artifactUpdate" in news:
            _fold(task["artifacts"], news["artifactUpdate"])
        if task["status"]["state"] not in _ACTIVE:
            break
    return task


def _fold(artifacts: list[Any], update: Any) -> None:
    artifact = update["artifact"]
    for place, known in enumerate(artifacts):
        if known["artifactId"] == artifact["artifactId"]:
            if update.get("append"):
                known["parts"] = [*known["parts"], *artifact["parts"]]
            else:
                artifacts[place] = artifact
            return
    artifacts.append(artifact)


def _artifacts(task: Any) -> list[Any]:
    """Return the parts of all artifacts in order; texts of one artifact are joined."""
    found: list[Any] = []
    for artifact in task.get("artifacts", []):
        joined: list[Any] = []
        for part in map(_part, artifact["parts"]):
            if isinstance(part, str) and joined and isinstance(joined[-1], str):
                joined[-1] += part
            else:
                joined.append(part)
        found += [part for part in joined if part != ""]
    return found


def _part(part: dict[str, Any]) -> Any:
    if "text" in part:
        return part["text"]
    if "data" in part:
        return part["data"]
    return {"file": part.get("raw") or part.get("url"), "type": part.get("mediaType", "")}


def _parts(answer: object) -> list[Any]:
    """Return the parts of a bare answer in the same form."""
    match answer:
        case None | "":
            return []
        case Text(text=text):
            return [text]
        case Data(value=value):
            return [value]
        case File():
            content = base64.b64encode(answer.content).decode() if answer.content else answer.url
            return [{"file": content, "type": answer.media_type}]
        case list():
            return [part for each in answer for part in _parts(each)]
        case _:
            return [answer]


def _texts(parts: list[Any]) -> list[str]:
    return [part for part in parts if isinstance(part, str)]


Ways: TypeAlias = Sequence[tuple[Callable[..., Awaitable[Any]], str]]
"""Ways to ask, each with the storage of the server."""

ALL: Ways = [(_stream, "file"), (_send, ""), (_subscribe, ""), (_stream_v03, "file")]

in_each_way = pytest.mark.parametrize(
    "ways",
    [ALL[:1], pytest.param(ALL[1:], marks=pytest.mark.thorough)],
    ids=["streamed", "in other ways"],
)
"""Runs a test, which has an argument `ways`, in all ways; `make test` takes the first."""
