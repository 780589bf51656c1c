"""The wire format: JSON-RPC, HTTP+JSON, both versions, valid and invalid requests."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from a2a_adapters import (
    InputRequired,
    InvalidInputError,
    Progress,
    ServerOptions,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.plugin import PROGRESS_EXTENSION, Adapter, AgentDescription
from a2a_adapters.testing import running
from tests.support.requests import MESSAGE, V1, old_say, rpc, serving, sse


async def echo(text):
    return text


async def talk(text):
    for word in text.split():
        yield word


@pytest.fixture
async def http():
    async with serving(echo, headers=V1) as client:
        yield client


async def post(http, content):
    return (await http.post("/", json=content)).json()


@pytest.mark.parametrize("method", ["SendMessage", "GetTask", "ListTasks", "CancelTask"])
async def test_calls_without_params_are_invalid_params_or_empty(http, method):
    answer = await post(http, rpc(method, {}))
    assert answer["id"] == 1
    if method == "ListTasks":
        assert answer["result"]["tasks"] == []
    else:
        assert answer["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", -32700),
        (b'{"a": "\xff"}', -32700),
        (b'{"a": NaN}', -32700),
        (b"[" * 10_000 + b"]" * 10_000, -32700),
        (b"[]", -32600),
        (b"3", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "SendMessage"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "NoSuchMethod"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": []}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": 3}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "none"}}', -32001),
    ],
)
async def test_wrong_requests_get_the_right_error(http, content, code):
    response = await http.post("/", content=content)
    assert response.status_code == 200
    assert response.json()["error"]["code"] == code
    assert "Traceback" not in response.text
    assert (await post(http, rpc("SendMessage", {"message": MESSAGE})))["result"]["task"]


PUSH = {"url": "https://a.example"}
CREATE_PUSH = ("CreateTaskPushNotificationConfig", "/tasks/t/pushNotificationConfigs")
SEND = ("SendMessage", "/message:send")


@pytest.mark.parametrize(
    ("method", "path", "params", "says"),
    [
        (
            *SEND,
            {"message": {**MESSAGE, "role": "user"}},
            "role 'user'; in A2A 1.0 it is ROLE_USER",
        ),
        (*SEND, {"message": {**MESSAGE, "role": "x" * 99}}, "A2A 1.0 has ROLE_USER, ROLE_AGENT"),
        (
            *SEND,
            {"message": MESSAGE, "configuration": {"pushNotificationConfig": PUSH}},
            "pushNotificationConfig is of A2A 0.3; in A2A 1.0 it is taskPushNotificationConfig",
        ),
        (
            *SEND,
            {"message": MESSAGE, "configuration": {"blocking": False}},
            "blocking is of A2A 0.3; in A2A 1.0 it is returnImmediately",
        ),
        (
            *SEND,
            {"message": {**MESSAGE, "parts": [{"kind": "file", "file": {"uri": "https://a"}}]}},
            "file is of A2A 0.3; in A2A 1.0 it is raw or url",
        ),
        (
            *CREATE_PUSH,
            {"taskId": "t", "pushNotificationConfig": PUSH},
            "in A2A 1.0 it is url, token and authentication",
        ),
        (
            *CREATE_PUSH,
            {"taskId": "t", **PUSH, "authentication": {"schemes": ["Bearer"], "credentials": "c"}},
            "in A2A 1.0 it is scheme",
        ),
    ],
)
async def test_names_of_0_3_in_a_request_of_1_0_are_explained(http, method, path, params, says):
    rpc_error = (await post(http, rpc(method, params)))["error"]
    rest_error = (await http.post(path, json=params)).json()["error"]
    assert (rpc_error["code"], rest_error["code"]) == (-32602, 400)
    assert says in rpc_error["message"]
    assert says in rest_error["message"]


async def test_states_and_methods_of_0_3_are_explained(http):
    says = "unknown status 'input-required'; in A2A 1.0 it is TASK_STATE_INPUT_REQUIRED"
    listed = await post(http, rpc("ListTasks", {"status": "input-required"}))
    assert listed["error"]["message"] == says
    listed = await http.get("/tasks", params={"status": "input-required"})
    assert listed.json()["error"]["message"] == says
    sent = await post(http, rpc("message/send", {"message": MESSAGE}))
    assert "message/send is of A2A 0.3: call SendMessage" in sent["error"]["message"]


async def test_names_of_0_3_without_an_effect_are_ignored(http):
    message = {**MESSAGE, "kind": "message", "parts": [{"kind": "text", "text": "hi"}]}
    params = {"message": message, "configuration": {"blocking": True, "acceptedOutputModes": []}}
    assert (await post(http, rpc("SendMessage", params)))["result"]["task"]


async def test_a_message_of_0_3(http):
    del http.headers["A2A-Version"]
    answer = await post(http, rpc("message/send", old_say("hi")))
    task = answer["result"]
    assert (task["kind"], task["status"]["state"]) == ("task", "completed")
    assert task["artifacts"][0]["parts"] == [{"kind": "text", "text": "hi"}]
    got = await http.get(f"/v1/tasks/{task['id']}")
    assert got.json()["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_both_versions_and_bindings_show_the_same_task(http):
    """Our JSON of a task must equal a2a-sdk's: GetTask uses the former over JSON-RPC only."""
    sent = (await http.post("/message:send", json={"message": MESSAGE})).json()["task"]
    ours = (await post(http, rpc("GetTask", {"id": sent["id"]})))["result"]
    theirs = (await http.get(f"/tasks/{sent['id']}")).json()
    assert ours == theirs == sent
    del http.headers["A2A-Version"]
    old = (await post(http, rpc("tasks/get", {"id": sent["id"]})))["result"]
    assert old["id"] == sent["id"]


async def test_streams_by_both_bindings_hold_the_same():
    async with serving(talk, headers=V1) as http:
        message = {**MESSAGE, "parts": [{"text": 'one "two" \u2028 drei\u00e9'}]}
        call = rpc("SendStreamingMessage", {"message": message}, call_id="s")
        text = (await http.post("/", json=call)).text
        ours = [event["result"] for event in sse(text)]
        streamed = await http.post("/message:stream", json={"message": message})
        theirs = sse(streamed.text.replace("\r\n", "\n"))

    assert without_ids(ours) == without_ids(theirs)
    assert [list(event) for event in ours] == [
        ["task"],
        *[["artifactUpdate"]] * 4,
        ["statusUpdate"],
    ]


def without_ids(value):
    """Return JSON without the values that differ between tasks."""
    changing = {"id", "taskId", "contextId", "artifactId", "messageId", "timestamp"}
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items() if key not in changing}
    if isinstance(value, list):
        return [without_ids(item) for item in value]
    return value


async def test_a_stream_that_is_refused_is_an_error_not_a_stream(http):
    call = rpc("SendStreamingMessage", {"message": {**MESSAGE, "taskId": "unknown"}})
    response = await http.post("/", json=call)
    assert response.headers["content-type"] == "application/json"
    assert response.json()["error"]["code"] == -32001


async def test_a_wrong_answer_leaves_the_task_waiting():
    class Asking(Adapter):
        def describe(self):
            return AgentDescription(name="asking", description="Asks for a number.")

        def stream(self, request):
            if request.resuming and not request.text.isdigit():
                raise InvalidInputError("a number, please")
            return self.answer(request)

        async def answer(self, request):
            yield InputRequired("how many?", durable=True)

    async with serving(Asking(), headers=V1) as http:
        task = (await post(http, rpc("SendMessage", {"message": MESSAGE})))["result"]["task"]
        wrong = {**MESSAGE, "taskId": task["id"]}
        answer = await post(http, rpc("SendMessage", {"message": wrong}))
        assert answer["error"]["message"] == "a number, please"
        assert (await post(http, rpc("GetTask", {"id": task["id"]})))["result"] == task


async def test_progress_is_sent_only_to_those_who_activated_it():
    release = asyncio.Event()

    async def working(text):
        yield ToolCall("1", "search", {"q": "x"})
        yield ToolResult("1", "search", ["found"])
        yield Progress("thinking", {"step": 2})
        yield "done"
        await release.wait()

    async def read(url, headers):
        async with httpx.AsyncClient(base_url=url, headers=V1 | headers, timeout=60) as http:
            call = rpc("SendStreamingMessage", {"message": MESSAGE})
            return sse((await http.post("/", json=call)).text)

    def hide(event):
        if isinstance(event, ToolResult):
            return None
        return ToolCall(event.id, event.name, "hidden") if isinstance(event, ToolCall) else event

    release.set()
    async with running(build_app(working, options=ServerOptions(redact=hide))) as url:
        plain = await read(url, {})
        activated = await read(url, {"A2A-Extensions": PROGRESS_EXTENSION})
    assert not [e for e in plain if PROGRESS_EXTENSION in str(e)]
    statuses = [e["result"].get("statusUpdate", {}).get("status", {}) for e in activated]
    updates = [status["message"] for status in statuses if "message" in status]
    assert [message["parts"][-1]["data"] for message in updates] == [
        {"type": "tool_call", "id": "1", "name": "search", "arguments": "hidden"},
        {"type": "progress", "data": {"step": 2}},
    ]
    assert updates[1]["parts"][0] == {"text": "thinking"}


async def test_push_notifications_and_the_extended_card_are_refused(http):
    for method, params, code in (
        ("CreateTaskPushNotificationConfig", {"taskId": "t", "url": "https://x"}, -32003),
        ("GetTaskPushNotificationConfig", {"taskId": "t", "id": "c"}, -32003),
        ("ListTaskPushNotificationConfigs", {"taskId": "t"}, -32003),
        ("DeleteTaskPushNotificationConfig", {"taskId": "t", "id": "c"}, -32003),
        ("GetExtendedAgentCard", {}, -32004),
    ):
        assert (await post(http, rpc(method, params)))["error"]["code"] == code


async def test_a_reader_that_leaves_is_forgotten():
    left = asyncio.Event()
    begun = asyncio.Event()

    async def waiting(text):
        yield "begun"
        begun.set()
        await left.wait()
        yield "more"

    app = build_app(waiting)
    async with running(app) as url, httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http:
        call = rpc("SendStreamingMessage", {"message": MESSAGE})
        async with http.stream("POST", "/", json=call) as response:
            assert "task" in await anext(response.aiter_lines())
            await begun.wait()
        [live] = [live for agent in app.state.agents for live in agent.runtime.live.all()]
        async with asyncio.timeout(60):
            while live.subscribers:  # noqa: ASYNC110 - nothing tells when one leaves
                await asyncio.sleep(0.01)
        left.set()


async def test_quiet_streams_are_kept_open(monkeypatch):
    monkeypatch.setattr("a2a_adapters.bindings.sse._HEARTBEAT_SECONDS", 0.02)
    release = asyncio.Event()

    async def quiet(text):
        await release.wait()
        return text

    async with (
        running(build_app(quiet)) as url,
        httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http,
        http.stream(
            "POST", "/", json=rpc("SendStreamingMessage", {"message": MESSAGE})
        ) as response,
    ):
        lines = []
        async for line in response.aiter_lines():
            lines.append(line)
            if line == ": keep-alive":
                release.set()
    assert "TASK_STATE_COMPLETED" in lines[-2]
