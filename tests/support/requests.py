"""Agents, requests and response parsers for tests of bindings."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import httpx

from a2a_adapters import (
    AuthRequired,
    File,
    InputRequired,
    InvalidInputError,
    Reply,
    Text,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.testing import running

V1 = {"A2A-Version": "1.0"}
MESSAGE = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
OLD_MESSAGE = {
    "kind": "message",
    "messageId": "m1",
    "role": "user",
    "parts": [{"kind": "text", "text": "hello"}],
}


class Agent(Adapter):
    """Follows its caller: echo, ask, authorise, wait, refuse, fail, reply, files."""

    may_reply = True

    def __init__(self, **description):
        self.description = description
        self.release = asyncio.Event()
        self.seen = []

    def describe(self):
        about = {"name": "agent", "description": "An agent.", **self.description}
        return AgentDescription(**about)

    def stream(self, request):
        self.seen.append(request)
        if request.text == "refuse":
            raise InvalidInputError("say something else")
        return self.answer(request)

    async def answer(self, request):
        match request.text:
            case "ask" if not request.resuming:
                yield TextDelta("thinking")
                yield InputRequired("what?", durable=True)
            case "authorise":
                yield AuthRequired("who?", durable=True)
            case "wait":
                yield TextDelta("begun ")
                await self.release.wait()
                yield TextDelta("done")
            case "fail":
                raise RuntimeError("SECRET=/etc/key")
            case "reply":
                yield Reply((Text("hi"),))
            case _:
                for part in request.parts:
                    yield TextDelta(part.text if isinstance(part, Text) else f"<{_bytes(part)}>")
                    yield TextDelta(" ")


def _bytes(part):
    return len(part.content) if isinstance(part, File) and part.content else part


@asynccontextmanager
async def client_of(app, headers=None):
    """Run an app; yield a client of it."""
    async with (
        running(app) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as http,
    ):
        yield http


def serving(target, *, headers=None, **options):
    """Serve a target; yield a client of it."""
    return client_of(build_app(target, **options), headers)


def rpc(method, params, call_id=1):
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}


def say(text, **fields):
    return {"message": {**MESSAGE, "parts": [{"text": text}], **fields}}


def old_say(text, **fields):
    return {"message": {**OLD_MESSAGE, "parts": [{"kind": "text", "text": text}], **fields}}


def proto_say(text, **fields):
    """Return a request as sent by REST clients of 0.3."""
    message = {"messageId": "m1", "role": "ROLE_USER", "content": [{"text": text}], **fields}
    return {"request": message}


async def call(http, method, params, headers=V1):
    response = await http.post("/", json=rpc(method, params), headers=headers)
    assert response.status_code == 200
    return response.json()


async def old_call(http, method, params):
    return await call(http, method, params, {})


def sse(text):
    """Return the events of a stream."""
    assert "\r" not in text
    assert len(text.splitlines()) == text.count("\n")
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]


def refused(response, code, status, reason):
    """Assert the refusal of an HTTP+JSON call."""
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["status"]) == (code, code, status)
    info = error["details"][0]
    assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert (info["reason"], info["domain"]) == (reason, "a2a-protocol.org")
    return error


def grpc_port(app):
    """Return the port at which the only agent of an app listens for gRPC."""
    [agent] = app.state.agents
    [binding] = agent.bindings
    return binding.port
