"""Agents that answer differently from the specification, in ways that agents in use do."""

from __future__ import annotations

import json

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_adapters import (
    RemoteAgent,
    RemoteConnectionError,
    RemoteOptions,
    RemoteRefusedError,
    TextDelta,
)
from a2a_adapters.testing import running
from tests.support.servers.cards import base_url

IDS = {"taskId": "t", "contextId": "c"}
ONCE = RemoteOptions(retries=0, timeout=60)


def text(version, value):
    return {"kind": "text", "text": value} if version == "0.3" else {"text": value}


def events(version):
    """Return the events of the answer `pong` in a version of A2A."""
    chunks = [
        {**IDS, "artifact": {"artifactId": "a", "parts": [text(version, piece)]}, "append": more}
        for more, piece in ((False, "po"), (True, "ng"))
    ]
    if version == "0.3":
        end = {"kind": "status-update", **IDS, "status": {"state": "completed"}, "final": True}
        return [*({"kind": "artifact-update", **chunk} for chunk in chunks), end]
    end = {"statusUpdate": {**IDS, "status": {"state": "TASK_STATE_COMPLETED"}}}
    return [*({"artifactUpdate": chunk} for chunk in chunks), end]


def task(version):
    """Return the finished task in a version of A2A."""
    state = "completed" if version == "0.3" else "TASK_STATE_COMPLETED"
    found = {
        "id": "t",
        "contextId": "c",
        "status": {"state": state},
        "artifacts": [{"artifactId": "a", "parts": [text(version, "pong")]}],
    }
    return {"kind": "task", **found} if version == "0.3" else {"task": found}


def frames(*values, before="", end="\n\n"):
    """Return values as server-sent events, each after the text `before`."""
    return "".join(f"{before}data: {json.dumps(value)}{end}" for value in values)


def enveloped(call, values, **changes):
    made = ({"jsonrpc": "2.0", "id": call["id"], "result": value} for value in values)
    return [{key: v for key, v in (each | changes).items() if v is not ...} for each in made]


STREAMS = {
    "named pings": lambda call, all_: frames(
        *enveloped(call, all_), before='event: ping\ndata: {"type": "ping"}\n\n'
    ),
    "pings without data": lambda call, all_: frames(
        *enveloped(call, all_), before="event: ping\ndata:\n\n"
    ),
    "pings in words": lambda call, all_: frames(
        *enveloped(call, all_), before="event: keep-alive\ndata: still here\n\n"
    ),
    "empty data": lambda call, all_: frames(*enveloped(call, all_), before="data:\n\n"),
    "pings as objects": lambda call, all_: frames({"type": "ping"}, *enveloped(call, all_)),
    "null results": lambda call, all_: frames(*enveloped(call, [None, *all_])),
    "named events": lambda call, all_: frames(*enveloped(call, all_), before="event: update\n"),
    "an end as OpenAI's": lambda call, all_: frames(*enveloped(call, all_)) + "data: [DONE]\n\n",
    "null ids": lambda call, all_: frames(*enveloped(call, all_, id=None)),
    "no ids": lambda call, all_: frames(*enveloped(call, all_, id=...)),
    "no envelope": lambda call, all_: frames(*all_),
    "a last event without its empty line": lambda call, all_: frames(
        *enveloped(call, all_)
    ).rstrip(),
}
"""Bodies of streams whose answer is `pong`."""


class Sloppy:
    """Answers with `pong`; `answer` returns the response to a JSON-RPC call."""

    def __init__(self, answer, version="1.0", *, streaming=True):
        self.answer = answer
        self.version = version
        self.streaming = streaming
        self.methods = []
        routes = [
            Route("/.well-known/agent-card.json", self._card),
            Route("/", self._endpoint, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)

    async def _card(self, request: Request) -> Response:
        card = {"name": "Sloppy", "description": "Pong.", "version": "1", "skills": []}
        card |= {"capabilities": {"streaming": self.streaming}}
        card |= {"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]}
        url = base_url(request)
        if self.version == "0.3":
            return JSONResponse(card | {"url": url, "protocolVersion": "0.3.0"})
        interface = {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": self.version}
        return JSONResponse(card | {"supportedInterfaces": [interface]})

    async def _endpoint(self, request: Request) -> Response:
        call = await request.json()
        self.methods.append(call["method"])
        return self.answer(call)


async def asked(server, **options):
    """Return the text of a stream, and the text of its reply."""
    options = RemoteOptions(retries=0, timeout=60, **options)
    async with running(server.app) as url, RemoteAgent(url, options=options) as agent:
        *news, reply = [event async for event in agent.stream("ping")]
        again = await agent.send("ping")
    assert again.text == reply.text
    return "".join(each.text for each in news if isinstance(each, TextDelta)), reply.text


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("name", STREAMS)
async def test_what_is_no_result_is_skipped(name, version):
    def answer(call):
        body = STREAMS[name](call, events(version))
        return Response(body, media_type="text/event-stream")

    assert await asked(Sloppy(answer, version)) == ("pong", "pong")


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("changes", [{"id": None}, {"id": ...}, None], ids=str)
async def test_a_result_without_an_id_or_an_envelope_is_read(changes, version):
    def answer(call):
        result = task(version)
        return JSONResponse(result if changes is None else enveloped(call, [result], **changes)[0])

    assert await asked(Sloppy(answer, version, streaming=False)) == ("pong", "pong")


@pytest.mark.parametrize(
    "media_type", ["application/x-ndjson", "application/jsonl", "application/json", "text/plain"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", ""])
async def test_lines_of_json_are_a_stream(media_type, end):
    def answer(call):
        lines = [json.dumps(each) for each in enveloped(call, events("1.0"))]
        return Response(f"{(end or chr(10)).join(lines)}{end}", media_type=media_type)

    assert await asked(Sloppy(answer)) == ("pong", "pong")


async def test_events_with_another_media_type_are_a_stream():
    def answer(call):
        return Response(frames(*enveloped(call, events("1.0"))), media_type="application/json")

    assert await asked(Sloppy(answer)) == ("pong", "pong")


async def test_the_limit_of_values_counts_each_line_of_a_stream():
    def answer(call):
        lines = [json.dumps(each) for each in enveloped(call, events("1.0"))]
        return Response("\n".join(lines), media_type="application/x-ndjson")

    assert await asked(Sloppy(answer), answer_values=20) == ("pong", "pong")


REFUSALS = {
    "unsupported operation": lambda call: {"code": -32004, "message": "no streams"},
    "unknown method": lambda call: {"code": -32601, "message": "Method not found"},
    404: None,
    405: None,
    406: None,
    501: None,
}


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("refusal", REFUSALS)
async def test_an_agent_that_refuses_streams_is_asked_without(refusal, version):
    def answer(call):
        if not call["method"].lower().endswith(("stream", "streamingmessage")):
            return JSONResponse(enveloped(call, [task(version)])[0])
        if make := REFUSALS[refusal]:
            return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "error": make(call)})
        return JSONResponse({"detail": "Not here"}, refusal)

    server = Sloppy(answer, version)
    assert await asked(server) == ("pong", "pong")
    assert len(server.methods) == 3, "the second message is not streamed"


async def test_a_refusal_of_both_ways_is_raised_and_streams_are_tried_again():
    def answer(call):
        error = {"code": -32004, "message": "the task is over"}
        return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "error": error})

    server = Sloppy(answer)
    async with running(server.app) as url, RemoteAgent(url, options=ONCE) as agent:
        for _ in range(2):
            with pytest.raises(RemoteRefusedError, match="the task is over"):
                await agent.send("ping")
    assert server.methods == ["SendStreamingMessage", "SendMessage"] * 2


async def test_streams_can_be_turned_off():
    server = Sloppy(lambda call: JSONResponse(enveloped(call, [task("1.0")])[0]))
    assert await asked(server, stream=False) == ("pong", "pong")
    assert set(server.methods) == {"SendMessage"}


@pytest.mark.parametrize("code", [-32053, -32054])
async def test_an_agent_that_says_in_an_error_that_it_is_busy_is_asked_again(code):
    server = Sloppy(None)

    def answer(call):
        if len(server.methods) < 3:
            error = {"code": code, "message": "Too many requests"}
            return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "error": error})
        return JSONResponse(enveloped(call, [task("1.0")])[0])

    server.answer = answer
    async with running(server.app) as url:
        async with RemoteAgent(url) as agent:
            assert (await agent.send("ping")).text == "pong"
        server.methods.clear()
        async with RemoteAgent(url, options=ONCE) as agent:
            with pytest.raises(RemoteConnectionError, match=r"busy.*Too many requests") as caught:
                await agent.send("ping")
    assert not caught.value.may_have_arrived


@pytest.mark.parametrize("status", [502, 504])
async def test_a_message_that_a_gateway_lost_may_have_arrived(status):
    server = Sloppy(lambda call: JSONResponse({"error": "upstream"}, status))
    async with running(server.app) as url, RemoteAgent(url, options=ONCE) as agent:
        with pytest.raises(RemoteConnectionError, match="may have received") as caught:
            await agent.send("ping")
    assert caught.value.may_have_arrived
    assert len(server.methods) == 1


def status(text):
    return {"state": "TASK_STATE_WORKING", "message": {**IDS, **said(text)}}


def said(text):
    return {"messageId": text, "role": "ROLE_AGENT", "parts": [{"text": text}]}


COMPLETED = {"statusUpdate": {**IDS, "status": {"state": "TASK_STATE_COMPLETED"}}}


def working(*texts):
    return [{"statusUpdate": {**IDS, "status": status(text)}} for text in texts]


def whole(text):
    found = {"artifactId": "a", "parts": [{"text": text}]}
    return {"artifactUpdate": {**IDS, "artifact": found}}


async def heard(*streams, **options):
    """Return the text chunks of each stream of an agent, and check the text of its replies."""
    left = list(streams)

    def answer(call):
        body = frames(*enveloped(call, left.pop(0)))
        return Response(body, media_type="text/event-stream")

    chunks = []
    async with (
        running(Sloppy(answer).app) as url,
        RemoteAgent(url, options=RemoteOptions(retries=0, **options)) as agent,
    ):
        for _ in streams:
            *news, reply = [event async for event in agent.stream("ping")]
            chunks.append([each.text for each in news if isinstance(each, TextDelta)])
            assert reply.text == "It rains, again."
    return chunks


@pytest.mark.parametrize(
    "texts",
    [("It", " rains", ", again."), ("It ", "rains", ", again."), ("It", "It rains, again.")],
)
async def test_text_in_statuses_is_recognised(texts):
    stream = [*working(*texts), COMPLETED]
    first, second = await heard(stream, stream)
    assert "".join(first) == "".join(second) == "It rains, again."
    assert len(first) == len(second) == len(texts)
    assert (await heard(stream, status_text=False))[0] == ["It rains, again."]


async def test_reports_of_progress_are_no_text():
    stream = [*working("thinking…", "writing…"), whole("It rains, again."), COMPLETED]
    assert await heard(stream, stream) == [["It rains, again."]] * 2


async def test_an_artifact_ends_the_recognition():
    pieces = [*working("It", " rains", ", again."), COMPLETED]
    reported = [*working("thinking…", "writing…"), whole("It rains, again."), COMPLETED]
    chunks = await heard(pieces, reported, reported)
    assert chunks[2] == ["It rains, again."]
