"""The limit of values in a request, and the cost of a request at the limit."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import grpc.aio
import httpx
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import GetTaskRequest, SendMessageRequest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_core import from_json

from a2a_adapters import InputRequired, Limits, ServerOptions, build_app
from a2a_adapters.security.body import has_more_values
from a2a_adapters.testing import running, user_message
from tests.support.requests import V1, call, grpc_port, old_say, proto_say, rpc, say, serving

VALUES = 10_000
LIMITS = Limits(values=100, metadata_bytes=2000)


async def echo(text):
    return text


def count(value):
    if isinstance(value, dict):
        return 1 + sum(map(count, value.values()))
    return 1 + sum(map(count, value)) if isinstance(value, list) else 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a,"[]{}\\:é', max_size=9),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=40,
)


@pytest.mark.timeout(300)
@given(_JSON, st.integers(0, 30), st.booleans(), st.sampled_from([None, 1]))
@example([""], 1, True, None)
@example([[], {}, {"": ""}], 4, True, 1)
def test_values_are_counted_as_they_are(value, limit, plain, indent):
    text = json.dumps(value, ensure_ascii=plain, indent=indent).encode()
    text = text.replace(b"[]", b"[ ]").replace(b"{}", b"{\n}") if indent else text
    exceeds = has_more_values(text, limit)
    assert exceeds == (count(value) > limit)


def flood(size=200):
    return {"a": [[]] * size}


REQUESTS = {
    "JSON-RPC": ("/", V1, rpc("SendMessage", say("x", metadata=flood()))),
    "JSON-RPC, params": ("/", V1, rpc("SendMessage", {**say("x"), "metadata": flood()})),
    "JSON-RPC, data": ("/", V1, rpc("SendMessage", say("x", parts=[{"data": flood()}]))),
    "JSON-RPC, stream": ("/", V1, rpc("SendStreamingMessage", say("x", metadata=flood()))),
    "JSON-RPC, ids": ("/", V1, rpc("SendMessage", say("x", referenceTaskIds=["t"] * 200))),
    "JSON-RPC, unknown": ("/", V1, rpc("GetTask", {"id": "t", "other": flood()})),
    "JSON-RPC 0.3": ("/", {}, rpc("message/send", old_say("x", metadata=flood()))),
    "JSON-RPC 0.3, stream": ("/", {}, rpc("message/stream", old_say("x", metadata=flood()))),
    "HTTP+JSON": ("/message:send", V1, say("x", metadata=flood())),
    "HTTP+JSON, stream": ("/message:stream", V1, say("x", metadata=flood())),
    "HTTP+JSON 0.3": ("/v1/message:send", {}, proto_say("x", metadata=flood())),
    "Agno": ("/agents/echo/v1/message:send", {}, rpc("message/send", old_say("x", a=flood()))),
    "OmniRoute": ("/a2a", {}, rpc("message/send", {"skill": "s", "metadata": flood()})),
    "OpenAI": ("/v1/chat/completions", {}, {"model": "echo", "messages": [], "tools": [flood()]}),
    "AG-UI": ("/ag-ui", {}, {"threadId": "t", "runId": "r", "messages": [], "state": flood()}),
    "JSON of nothing else": ("/", V1, flood()),
}


@pytest.mark.parametrize("name", REQUESTS)
async def test_too_many_values_are_refused(name):
    path, headers, body = REQUESTS[name]
    dialects = ["agno", "omniroute", "openai", "ag-ui"]
    app = build_app(echo, options=ServerOptions(limits=LIMITS), dialects=dialects)
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        response = await http.post(path, json=body, headers=headers)
        assert response.status_code == 413
        assert "at most 100 JSON values" in response.text
        listed = await call(http, "ListTasks", {})
    assert listed["result"]["tasks"] == []


async def test_large_metadata_is_refused():
    text = "x" * 3000
    async with serving(echo, options=ServerOptions(limits=LIMITS)) as http:
        for message in (
            say("x", metadata={"a": text}),
            {**say("x"), "metadata": {"a": text}},
            say("x", parts=[{"text": "x", "metadata": {"a": text}}]),
        ):
            error = (await call(http, "SendMessage", message))["error"]
            assert error["code"] == -32602
            assert "2000 bytes at most" in error["message"]
        fits = await call(http, "SendMessage", say("x", parts=[{"text": "x"}, {"text": text}]))
        assert "result" in fits


def floods():
    new = user_message("x")
    new.message.metadata.update(flood(2000))
    part = user_message("x")
    part.message.parts.add().data.struct_value.update(flood(2000))
    ids = user_message("x")
    ids.message.reference_task_ids.extend(["t"] * 2000)
    before = old.SendMessageRequest(request=old.Message(message_id="m", role="ROLE_USER"))
    before.request.content.add().data.data.update(flood(2000))
    for request in (new, part, ids):
        yield "/lf.a2a.v1.A2AService/SendMessage", request, (("a2a-version", "1.0"),)
    yield "/a2a.v1.A2AService/SendMessage", before, ()


@pytest.mark.parametrize(("method", "request_", "metadata"), list(floods()))
async def test_too_many_values_over_grpc_are_refused(method, request_, metadata):
    app = build_app(echo, options=ServerOptions(grpc_port=0, limits=LIMITS))
    async with running(app), grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary(method)(request_.SerializeToString(), metadata=metadata)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "at most 100 JSON values" in caught.value.details()


def worst(kind):
    """Return small metadata that takes the maximum work allowed."""
    items = {"lists": [[]] * 9000, "objects": [{}] * 9000, "texts": ["x"] * 9000}
    return {"a": items[kind]} if kind in items else {f"k{i}": i for i in range(9000)}


class Loop:
    """Measures the CPU time of the loop's thread, which is this one."""

    def __enter__(self):
        self._begun = time.thread_time()
        return self

    def __exit__(self, *_):
        self.seconds = time.thread_time() - self._begun


@pytest.mark.parametrize("kind", ["lists", "objects", "texts", "fields"])
async def test_the_worst_that_is_allowed_is_done_beside_the_loop(kind):
    """The CPU time of the loop is compared with that of the same work in one thread."""
    threads = []

    async def agent(text):
        threads.append(threading.current_thread())
        yield InputRequired("what?", durable=True)

    async with serving(agent) as http:
        for _ in range(5):
            await call(http, "SendMessage", say("x"))
        with Loop() as small:
            for _ in range(10):
                await call(http, "SendMessage", say("x"))
        body = json.dumps(rpc("SendMessage", say("x", metadata=worst(kind)))).encode()
        with Loop() as sent:
            answer = await http.post("/", content=body, headers=V1)
        task = from_json(answer.content)["result"]["task"]
        with Loop() as read:
            for _ in range(10):
                await http.post("/", json=rpc("GetTask", {"id": task["id"]}), headers=V1)
    assert threads == [threading.main_thread()] * len(threads)
    # The rest is copying and checking; converting alone takes several times as much.
    assert sent.seconds < 3 * small.seconds + 0.05
    assert read.seconds < 3 * small.seconds + 0.05


async def test_stored_tasks_are_converted_once_for_all_readers(monkeypatch):
    made = []

    from a2a_adapters.bindings import operations

    convert = operations.task_to_dict
    monkeypatch.setattr(operations, "task_to_dict", lambda task: made.append(task) or convert(task))
    async with serving(echo) as http:
        sent = await call(http, "SendMessage", say("x", metadata=worst("lists")))
        task = sent["result"]["task"]
        made.clear()
        found = await asyncio.gather(
            *[call(http, "GetTask", {"id": task["id"]}) for _ in range(20)]
        )
    assert [one["result"] for one in found] == [task] * 20
    assert len(made) == 1


async def test_readers_of_one_task_share_their_updates():
    from a2a_adapters.runtime import updates

    async def agent(text):
        yield InputRequired("what?", durable=True)

    made = []
    convert = updates.one_line

    def counted(event):
        made.append(event)
        return convert(event)

    with pytest.MonkeyPatch.context() as patch:
        async with serving(agent) as http:
            sent = await call(http, "SendMessage", say("x" * 300_000))
            task_id = sent["result"]["task"]["id"]
            patch.setattr(updates, "one_line", counted)
            async with asyncio.timeout(60):
                texts = await asyncio.gather(*[first(http, task_id) for _ in range(10)])
    assert len(set(texts)) == 1
    assert len(made) == 1


async def first(http, task_id):
    """Return the first event of a subscription."""
    body = rpc("SubscribeToTask", {"id": task_id})
    async with http.stream("POST", "/", json=body, headers=V1) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                return line
    return ""


async def test_large_messages_arrive_whole_over_grpc():
    app = build_app(echo, options=ServerOptions(grpc_port=0))
    async with running(app), grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel:
        send = channel.unary_unary("/lf.a2a.v1.A2AService/SendMessage")
        version = (("a2a-version", "1.0"),)
        text = "a, [b] {c} " * 20_000
        request = user_message(text)
        assert isinstance(request, SendMessageRequest)
        answer = await send(request.SerializeToString(), metadata=version)
        assert text.encode() in answer
        get = channel.unary_unary("/lf.a2a.v1.A2AService/GetTask")
        with pytest.raises(grpc.aio.AioRpcError):
            await get(GetTaskRequest(id="none").SerializeToString(), metadata=version)
