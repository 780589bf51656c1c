"""Calls of A2A 1.1 as drafted, over JSON-RPC and HTTP+JSON."""

from __future__ import annotations

import json
from contextlib import aclosing, asynccontextmanager
from uuid import uuid4

from tests.support.drafted import V11
from tests.support.requests import rpc, say


class JsonRpc:
    """Calls over JSON-RPC."""

    def __init__(self, http):
        self.http = http

    async def call(self, method, params, headers=V11):
        answer = (await self.http.post("/", json=rpc(method, params), headers=headers)).json()
        return answer["error"] if "error" in answer else answer["result"]

    def opened(self, method, params, headers):
        return self.http.stream("POST", "/", json=rpc(method, params), headers=headers)

    def event(self, data):
        return data["result"]


class Rest:
    """Calls over HTTP+JSON."""

    def __init__(self, http):
        self.http = http

    async def call(self, method, params, headers=V11):
        params = dict(params)
        path = f"/tasks/{params.pop('id', '')}".removesuffix("/")
        match method:
            case "SendMessage":
                answer = await self.http.post("/message:send", json=params, headers=headers)
            case "CancelTask":
                answer = await self.http.post(f"{path}:cancel", headers=headers)
            case _:
                answer = await self.http.get(path, params=params, headers=headers)
        body = answer.json()
        return body.get("error", body)

    def opened(self, method, params, headers):
        if method == "SubscribeToTask":
            return self.http.stream("GET", f"/tasks/{params['id']}:subscribe", headers=headers)
        return self.http.stream("POST", "/message:stream", json=params, headers=headers)

    def event(self, data):
        return data


@asynccontextmanager
async def reading(binding, method, params, **headers):
    """Open a stream; yield its events with their ids."""

    async def events(response):
        number = None
        async for line in response.aiter_lines():
            if line.startswith("id: "):
                number = int(line.removeprefix("id: "))
            elif line.startswith("data: "):
                yield number, binding.event(json.loads(line.removeprefix("data: ")))
                number = None

    async with (
        binding.opened(method, params, V11 | headers) as response,
        aclosing(events(response)) as opened,
    ):
        yield opened


async def read(binding, method, params, **headers):
    """Return the events of a stream with their ids."""
    async with reading(binding, method, params, **headers) as events:
        return [event async for event in events]


def generation(value):
    """Return the generation of a task, or of an event in its wrapper."""
    if len(value) == 1:
        [value] = value.values()
    return int(value["generation"]) if "generation" in value else None


def text_of(event):
    """Return the text of an artifact update, or of a task."""
    task = event.get("task", event)
    artifacts = task.get("artifacts", ())
    if "artifactUpdate" in event:
        artifacts = [event["artifactUpdate"]["artifact"]]
    return "".join(part.get("text", "") for each in artifacts for part in each.get("parts", ()))


def unique(text, **fields):
    return say(text, messageId=uuid4().hex, **fields)


async def begun(binding, text):
    """Begin a task and return it."""
    params = {**unique(text), "configuration": {"returnImmediately": True}}
    return (await binding.call("SendMessage", params))["task"]


async def until_said(binding, task, text):
    """Follow a task by long polls until it has said a text."""
    while text_of(task) != text:
        known = {"id": task["id"], "currentGeneration": task["generation"]}
        task = await binding.call("GetTask", known)
    return task


def on_condition(text, task, number):
    params = unique(text, taskId=task["id"])
    return {**params, "configuration": {"ifGenerationMatch": number}}
