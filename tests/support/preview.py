"""Calls of A2A 1.1 as drafted, over JSON-RPC and HTTP+JSON."""

from __future__ import annotations

import json
from contextlib import aclosing, asynccontextmanager
from uuid import uuid4

from a2a.types import a2a_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from tests.support.requests import rpc, say

V11 = {"A2A-Version": "1.1"}

FIELDS = {
    "Task": ("generation", 7, False),
    "TaskStatusUpdateEvent": ("generation", 5, False),
    "TaskArtifactUpdateEvent": ("generation", 7, False),
    "GetTaskRequest": ("current_generation", 4, True),
    "SendMessageConfiguration": ("if_generation_match", 5, True),
}
"""The name and the number of each field, and whether it is optional."""


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


def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    _add(pool, a2a_pb2.DESCRIPTOR, set())
    return pool


def _add(pool, file, known):
    if file.name in known:
        return
    known.add(file.name)
    for each in file.dependencies:
        _add(pool, each, known)
    proto = FileDescriptorProto.FromString(file.serialized_pb)
    for message in proto.message_type if file is a2a_pb2.DESCRIPTOR else ():
        if message.name in FIELDS:
            name, number, is_optional = FIELDS[message.name]
            field = message.field.add(
                name=name,
                number=number,
                type=FieldDescriptorProto.TYPE_INT64,
                label=FieldDescriptorProto.LABEL_OPTIONAL,
            )
            if is_optional:
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{name}")
    pool.Add(proto)


_POOL = _pool()


def drafted_type(name):
    """Return the class of a message."""
    package = a2a_pb2.DESCRIPTOR.package
    return GetMessageClass(_POOL.FindMessageTypeByName(f"{package}.{name}"))
