"""Agents of ours behind AG-UI, and a client that checks the order of events as the spec has it."""

from __future__ import annotations

import itertools
import json
from contextlib import asynccontextmanager

import httpx
from a2a_adapters_ag_ui import FrontEnd
from ag_ui.core import Event
from pydantic import TypeAdapter

from a2a_adapters import (
    AuthRequired,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Output,
    Progress,
    Rejected,
    Reply,
    TaskMetadata,
    Text,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.plugin import A2UI_EXTENSION
from a2a_adapters.testing import running

EVENT = TypeAdapter(Event)
USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
SCHEMA = {"type": "object", "properties": {"colour": {"enum": ["red", "green"]}}}
SURFACE = {
    "version": "v0.9",
    "createSurface": {"surfaceId": "s", "catalogId": "https://a2ui.org/catalog"},
}
NUMBERS = itertools.count()


async def worker(request):  # noqa: C901, PLR0912, PLR0915 - a behaviour each
    """Do what is asked."""
    text, front = request.text, FrontEnd.of(request)
    match text:
        case "BOOM":
            raise RuntimeError("secret")
        case "HALF":
            yield "half of "
            raise RuntimeError("secret")
        case "REJECT":
            yield Rejected("not my job")
        case "REFUSE":
            raise InvalidInputError("send something else")
        case "ASK":
            yield "Well. "
            answer = yield InputRequired("Which city?")
            yield f"took {answer.text}"
        case "CHOOSE":
            answer = yield InputRequired("Which colour?", [Data({"response_schema": SCHEMA})])
            yield f"took {[part.value for part in answer.parts if isinstance(part, Data)]}"
        case "LOGIN":
            yield AuthRequired("Please sign in at https://id.example/login")
        case "TOOL":
            yield Progress("looking")
            yield Progress("hm", {"type": "thought"})
            yield Progress("", {"percent": 50})
            yield "before"
            yield ToolCall("c", "add", {"a": 2})
            yield ToolResult("c", "add", 5)
            yield ToolCall("d", "wait")
            yield "after"
        case "FRONT":
            answer = yield front.call("paint", {"colour": "red"})
            yield f"painted: {answer.text}"
        case "STATE":
            yield front.update({"seen": front.state, "n": 1})
            yield "counted"
            yield front.update({"n": 2, "a/b": None})
        case "INTERFACE":
            yield Output([Data([SURFACE]), Text("a form")], extensions=[A2UI_EXTENSION])
        case "PARTS":
            yield "text"
            yield Output([Data({"a": 1})])
            yield Output([File(url="https://x.example/f.pdf", filename="f.pdf")])
        case "REPLY":
            yield Reply([Text("a reply")])
        case "COUNT":
            yield "one two"
            yield TaskMetadata({"usage": USAGE})
        case "SEEN":
            files = [p for p in request.parts if isinstance(p, File)]
            yield str([(f.content, f.url, f.media_type, f.filename) for f in files])
        case "IDS":
            yield json.dumps([front.thread_id, front.run_id, request.context_id, request.task_id])
        case "CONTEXT":
            yield json.dumps(
                [front.context, front.forwarded_props, [t["name"] for t in front.tools]]
            )
        case _:
            data = [part.value for part in request.parts if isinstance(part, Data)]
            yield f"worked on {json.dumps(data) if data else text}"


@asynccontextmanager
async def serving(target=worker, **options):
    """Yield a client of a server."""
    app = build_app(target, dialects=["ag-ui"], **{"name": "worker", **options})
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield http


def user(content):
    return {"id": f"m{next(NUMBERS)}", "role": "user", "content": content}


def asked(*messages, thread="t", run=None, **more):
    """Return the input of a run; texts are messages of the user."""
    said = [user(each) if isinstance(each, str) else each for each in messages]
    return {
        "threadId": thread,
        "runId": run or f"r{next(NUMBERS)}",
        "protocolVersion": "1.0",
        "messages": said,
        **more,
    }


class Heard:
    """The events of a run, checked.

    Args:
        response: The response.
        given: The input.
    """

    def __init__(self, response, given):
        assert response.headers["content-type"].startswith("text/event-stream")
        chunks = [chunk for chunk in response.text.split("\n\n") if chunk.startswith("data: ")]
        self.events = [json.loads(chunk.removeprefix("data: ")) for chunk in chunks]
        for event in self.events:
            EVENT.validate_python(event)
            assert None not in [v for k, v in event.items() if k not in {"value", "snapshot"}]
        first, last = self.events[0], self.events[-1]
        assert first["type"] == "RUN_STARTED"
        assert (first["threadId"], first["runId"]) == (given["threadId"], given["runId"])
        assert last["type"] in {"RUN_FINISHED", "RUN_ERROR"}
        if last["type"] == "RUN_FINISHED":
            self._check_nesting()

    def _check_nesting(self):
        begun = []
        for event in self.events[1:-1]:
            kind, _, step = event["type"].rpartition("_")
            own = event.get("messageId") or event.get("toolCallId")
            if step == "START":
                begun.append((kind, own))
            elif step == "END":
                assert begun.pop() == (kind, own)
            elif step in {"CONTENT", "ARGS"}:
                assert begun[-1] == (kind, own)
            elif kind not in {"", "STATE"}:  # these may come at any time
                assert not begun
        assert not begun

    def of(self, kind):
        return [event for event in self.events if event["type"] == kind]

    @property
    def types(self):
        return [event["type"] for event in self.events]

    @property
    def text(self):
        return "".join(event["delta"] for event in self.of("TEXT_MESSAGE_CONTENT"))

    @property
    def last(self):
        return self.events[-1]

    @property
    def interrupt(self):
        [found] = self.last["outcome"]["interrupts"]
        return found

    def custom(self, name):
        return [event["value"] for event in self.of("CUSTOM") if event["name"] == name]


async def run(http, *messages, path="/ag-ui", headers=None, **more):
    """Run an agent and return the received events."""
    given = asked(*messages, **more)
    return Heard(await http.post(path, json=given, headers=headers), given)


def resuming(interrupt, payload=None, status="resolved"):
    entry = {"interruptId": interrupt["id"], "status": status}
    return [entry if payload is None else {**entry, "payload": payload}]
