"""Calls agents with plain HTTP, so that their tests do not depend on any A2A client."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import httpx

from a2a_adapters.testing import running

STREAMING = "SendStreamingMessage"
V1 = {"A2A-Version": "1.0"}
PING = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "ping"}]}


def calling(app):
    """Return a client of the app that needs no network."""
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://agent", headers=V1)


@asynccontextmanager
async def served(app, *, patience=10):
    """Yield a client of the app that calls it over the network and waits `patience` seconds."""
    async with (
        running(app) as url,
        httpx.AsyncClient(base_url=url, headers=V1, timeout=patience) as client,
    ):
        yield client


def call(method, **params):
    """Return the arguments with which httpx posts a JSON-RPC request."""
    return {"json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}}


async def rpc(client, method, **params):
    return await client.post("/", **call(method, **params))


async def result(client, method, **params):
    return (await rpc(client, method, **params)).json()["result"]


def events(response):
    """Return the results of a stream."""
    return [response["result"] for response in responses(response.text)]


def responses(stream):
    """Return the JSON of all data of a stream."""
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]


def digest(event):
    """Return the kind of an event, or the state in it, and its texts."""
    [(kind, value)] = event.items()
    match kind:
        case "task":
            return kind, [texts(a) for a in value.get("artifacts", [])]
        case "message":
            return kind, texts(value)
        case "artifactUpdate":
            how = "append" if value.get("append") else "set"
            return f"{how}, last" if value.get("lastChunk") else how, texts(value["artifact"])
    return state(value), texts(value["status"].get("message", {}))


def state(task):
    """Return the state of a task or of a status update."""
    return task["status"]["state"].removeprefix("TASK_STATE_").lower()


def texts(value):
    return [part["text"] for part in value.get("parts", []) if "text" in part]
