"""Versions, media types, paths and errors of the HTTP bindings."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from a2a_adapters import File
from a2a_adapters.plugin import PROGRESS_EXTENSION
from tests.support.requests import V1, call, old_call, old_say, proto_say, refused, rpc, say, sse


def version(value):
    return {"A2A-Version": value}


@pytest.mark.parametrize("value", ["1.0", "1.0.0", "1.0.7"])
async def test_versions_of_1_0(http, value):
    assert "result" in await call(http, "SendMessage", say("a"), version(value))
    sent = await http.post("/message:send", json=say("a"), headers=version(value))
    assert sent.status_code == 200


@pytest.mark.parametrize("value", ["", "0.3", "0.3.0"])
async def test_versions_of_0_3(http, value):
    assert "result" in await call(http, "message/send", old_say("a"), version(value))
    sent = await http.post("/v1/message:send", json=proto_say("a"), headers=version(value))
    assert sent.status_code == 200


@pytest.mark.parametrize("value", ["9.9", "1.1", "0.2", "2", "one", "1.0-beta", "1" * 5000, "é"])
async def test_other_versions_are_refused(http, agent, value):
    headers = [("A2A-Version", value.encode())]
    for method, params in (("SendMessage", say("a")), ("message/send", old_say("a"))):
        answer = await call(http, method, params, headers)
        assert answer["error"]["code"] == -32009
        assert len(answer["error"]["message"]) < 100
    for path, body in (("/message:send", say("a")), ("/v1/message:send", proto_say("a"))):
        rest = await http.post(path, json=body, headers=headers)
        error = refused(rest, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")
        assert error["details"][0]["metadata"] == {"supportedVersions": "1.0, 0.3"}
    assert agent.seen == []


async def test_the_version_may_be_a_query_parameter(http):
    answer = await http.post("/?A2A-Version=1.0", json=rpc("SendMessage", say("a")))
    assert "result" in answer.json()
    assert (await http.get("/tasks?A2A-Version=1.0")).status_code == 200


async def test_paths_of_one_version_refuse_the_other(http):
    new = await http.post("/message:send", json=say("a"))
    old = await http.post("/v1/message:send", json=proto_say("a"), headers=V1)
    for response in (new, old):
        refused(response, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")
    assert (await old_call(http, "SendMessage", say("a")))["error"]["code"] == -32009
    assert (await call(http, "message/send", old_say("a")))["error"]["code"] == -32601


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "text/plain; application/json"},
        {"Origin": "http://localhost:3000"},  # other origins are refused in any case
    ],
)
async def test_a_foreign_page_cannot_make_a_browser_run_the_agent(http, agent, headers):
    """Cross-origin requests that pages may send without permission (Fetch, CORS-safelisted)."""
    rpc_body, rest_body = json.dumps(rpc("SendMessage", say("a"))), json.dumps(say("a"))
    answer = await http.post("/", content=rpc_body, headers=V1 | headers)
    assert answer.json()["error"]["code"] == -32005
    old = json.dumps(rpc("message/send", old_say("a")))
    assert (await http.post("/", content=old, headers=headers)).json()["error"]["code"] == -32005
    for path in ("/message:send", "/message:stream"):
        rest = await http.post(path, content=rest_body, headers=V1 | headers)
        refused(rest, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED")
    assert agent.seen == []


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/A2A+JSON", None],
)
async def test_content_types_of_json(http, content_type):
    headers = V1 | ({"Content-Type": content_type} if content_type else {})
    sent = await http.post("/message:send", content=json.dumps(say("a")), headers=headers)
    assert sent.headers["content-type"] == "application/a2a+json"
    answer = await http.post("/", content=json.dumps(rpc("SendMessage", say("a"))), headers=headers)
    assert answer.headers["content-type"] == "application/json"
    assert "result" in answer.json()


async def test_every_operation_by_both_bindings_of_1_0(http):
    task = (await call(http, "SendMessage", say("ask")))["result"]["task"]
    path = f"/tasks/{task['id']}"
    assert (await http.get(path, headers=V1)).json() == task
    assert (await http.get(f"/any-tenant{path}", headers=V1)).json() == task
    short = await http.get(f"{path}?historyLength=0", headers=V1)
    assert "history" not in short.json()
    params = {"id": task["id"], "historyLength": 0}
    assert (await call(http, "GetTask", params))["result"] == short.json()

    query = "?includeArtifacts=true&pageSize=5&status=TASK_STATE_INPUT_REQUIRED"
    page = (await http.get(f"/tasks{query}", headers=V1)).json()
    assert page == {"tasks": [task], "nextPageToken": "", "pageSize": 5, "totalSize": 1}
    params = {"includeArtifacts": True, "pageSize": 5, "status": "TASK_STATE_INPUT_REQUIRED"}
    assert (await call(http, "ListTasks", params))["result"] == page

    for verb in ("GET", "POST"):
        async with http.stream(verb, f"{path}:subscribe", headers=V1) as stream:
            line = await anext(stream.aiter_lines())
            assert json.loads(line.removeprefix("data: ")) == {"task": task}
    cancelled = await http.post(f"{path}:cancel", headers=V1)
    assert cancelled.json()["status"]["state"] == "TASK_STATE_CANCELED"
    again = await http.post(f"{path}:cancel", json={"metadata": {}}, headers=V1)
    refused(again, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE")
    assert (await call(http, "CancelTask", {"id": task["id"]}))["error"]["code"] == -32002
    over = await http.get(f"{path}:subscribe", headers=V1)
    refused(over, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION")
    refused(
        await http.get("/extendedAgentCard", headers=V1),
        400,
        "FAILED_PRECONDITION",
        "UNSUPPORTED_OPERATION",
    )


@pytest.mark.parametrize(
    "query",
    [
        "status=TASK_STATE_RUNNING",
        "pageSize=0",
        "pageSize=101",
        "pageSize=many",
        "historyLength=-1",
        "includeArtifacts=perhaps",
        "statusTimestampAfter=yesterday",
        "pageToken=~",
    ],
)
async def test_wrong_queries_are_refused(http, query):
    await call(http, "SendMessage", say("a"))
    response = await http.get(f"/tasks?{query}", headers=V1)
    refused(response, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")


async def test_an_unknown_state_to_list_is_refused_by_json_rpc(http):
    answer = await call(http, "ListTasks", {"status": "TASK_STATE_RUNNING"})
    assert answer["error"]["code"] == -32602


async def test_every_operation_by_both_bindings_of_0_3(http):
    task = (await old_call(http, "message/send", old_say("ask")))["result"]
    path = f"/v1/tasks/{task['id']}"
    got = (await http.get(f"{path}?historyLength=0", headers={})).json()
    assert (got["id"], got["status"]["state"]) == (task["id"], "TASK_STATE_INPUT_REQUIRED")
    assert len(got["history"]) == len(task["history"])
    assert (await old_call(http, "tasks/get", {"id": task["id"]}))["result"] == task
    for verb in ("GET", "POST"):
        async with http.stream(verb, f"{path}:subscribe") as stream:
            line = await anext(stream.aiter_lines())
            assert json.loads(line.removeprefix("data: "))["task"]["id"] == task["id"]
    cancelled = (await http.post(f"{path}:cancel")).json()
    assert cancelled["status"]["state"] == "TASK_STATE_CANCELLED"
    answer = await old_call(http, "tasks/cancel", {"id": task["id"]})
    assert answer["error"]["code"] == -32002
    answer = await old_call(http, "agent/getAuthenticatedExtendedCard", {})
    assert answer["error"]["code"] == -32007
    card = await http.get("/.well-known/agent-card.json")
    assert (await http.get("/v1/card")).json() == card.json()  # as there is no extended one


async def test_files_by_rest_of_0_3(agent, http):
    """a2a-sdk's clients put base64 into the field for bytes, others the bytes themselves."""
    picture = b"\x89PNG\r\n"
    for content in (picture, base64.b64encode(picture)):
        file = {"fileWithBytes": base64.b64encode(content).decode(), "mimeType": "image/png"}
        body = proto_say("", content=[{"file": file}])
        assert (await http.post("/v1/message:send", json=body)).status_code == 200
        assert agent.seen[-1].parts == (File(content=picture, media_type="image/png"),)


async def test_unknown_paths_and_wrong_http_methods(http):
    wrong = await http.get("/message:send", headers=V1)
    error = wrong.json()["error"]
    assert (wrong.status_code, wrong.headers["allow"], error["code"]) == (405, "POST", 405)
    assert (await http.delete("/tasks/1", headers=V1)).status_code == 405
    for path in ("/nothing", "/v1/nothing", "/v1/tasks/1/2/3", "/tasks/1:unknown/2"):
        assert (await http.get(path, headers=V1)).status_code == 404
    odd = await http.get("/tasks/%FF%00%0A..%2f", headers=V1)
    assert odd.status_code == 404


async def test_a_refusal_by_the_agent_in_every_binding(http):
    text = "say something else"
    for method in ("SendMessage", "SendStreamingMessage"):
        error = (await call(http, method, say("refuse")))["error"]
        assert (error["code"], error["message"]) == (-32602, text)
    for path in ("/message:send", "/message:stream"):
        rest = await http.post(path, json=say("refuse"), headers=V1)
        assert refused(rest, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")["message"] == text
    old = await http.post("/v1/message:stream", json=proto_say("refuse"))
    assert refused(old, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")["message"] == text
    [event] = sse((await http.post("/", json=rpc("message/stream", old_say("refuse")))).text)
    assert (event["error"]["code"], event["error"]["message"]) == (-32602, text)
    assert (await call(http, "ListTasks", {}))["result"]["tasks"] == []


async def test_a_bare_message_by_every_binding(http):
    sent = (await call(http, "SendMessage", say("reply")))["result"]
    assert sent["message"]["parts"] == [{"text": "hi"}]
    streamed = await http.post("/", json=rpc("SendStreamingMessage", say("reply")), headers=V1)
    [event] = sse(streamed.text)
    assert event["result"]["message"]["parts"] == [{"text": "hi"}]
    rest = (await http.post("/message:send", json=say("reply"), headers=V1)).json()
    assert rest["message"]["parts"] == [{"text": "hi"}]
    answer = (await old_call(http, "message/send", old_say("reply")))["result"]
    assert (answer["kind"], answer["parts"]) == ("message", [{"kind": "text", "text": "hi"}])
    rest = (await http.post("/v1/message:send", json=proto_say("reply"))).json()
    assert rest["message"]["content"] == [{"text": "hi"}]


@pytest.mark.parametrize("binding", ["jsonrpc", "rest"])
async def test_a_stream_that_has_to_wait_begins_at_once(monkeypatch, agent, http, binding):
    """A queued message gets its headers; if it is refused later, that is its only event."""
    async with http.stream("POST", "/message:stream", json=say("wait"), headers=V1) as running:
        first = json.loads((await anext(running.aiter_lines())).removeprefix("data: "))
        monkeypatch.setattr("a2a_adapters.bindings.sse._REFUSAL_SECONDS", 0.05)
        follow = say("refuse", taskId=first["task"]["id"])
        path, body = (
            ("/", rpc("SendStreamingMessage", follow))
            if binding == "jsonrpc"
            else ("/message:stream", follow)
        )
        async with http.stream("POST", path, json=body, headers=V1) as queued:
            assert queued.headers["content-type"].startswith("text/event-stream")
            lines = queued.aiter_lines()
            assert await anext(lines) == ": keep-alive"
            agent.release.set()
            rest = [line async for line in lines if line]
    if binding == "rest":
        assert rest.pop(0) == "event: error"
    [event] = [json.loads(line.removeprefix("data: ")) for line in rest]
    error = event["error"]
    assert error["message"].startswith("Task ")
    assert error["code"] == (-32004 if binding == "jsonrpc" else 400)


async def test_an_unserializable_event_ends_the_stream_with_an_error(monkeypatch, http):
    def fail(_event):
        raise ValueError("SECRET")

    monkeypatch.setattr("a2a_adapters.bindings.v03_conversion.conversions.to_compat_task", fail)
    stream = await http.post("/", json=rpc("message/stream", old_say("a")))
    [event] = sse(stream.text)
    assert event["error"]["code"] == -32603
    sent = await old_call(http, "message/send", old_say("a"))
    assert sent["error"]["code"] == -32603
    rest = await http.post("/v1/message:send", json=proto_say("a"))
    refused(rest, 500, "INTERNAL", "INTERNAL_ERROR")
    assert "SECRET" not in stream.text + rest.text + str(sent)


@pytest.mark.parametrize("path", ["/", "/message:send", "/v1/message:stream"])
async def test_a_client_that_disconnects_during_its_request(http, agent, caplog, path):
    url = http.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    version = "1.0" if path == "/message:send" else "0.3"
    head = [f"POST {path} HTTP/1.1", "Host: localhost", f"A2A-Version: {version}"]
    writer.write("\r\n".join([*head, "Content-Length: 9", "", "{"]).encode())
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    assert answer == b""
    assert "result" in await call(http, "SendMessage", say("a"))
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_the_answer_names_the_active_extensions(http):
    asked = f"https://example.org/unknown, {PROGRESS_EXTENSION}"
    new, old = V1 | {"A2A-Extensions": asked}, {"X-A2A-Extensions": asked}
    for path in ("/message:send", "/message:stream"):
        response = await http.post(path, json=say("a"), headers=new)
        assert response.headers["a2a-extensions"] == PROGRESS_EXTENSION
        response = await http.post(f"/v1{path}", json=proto_say("a"), headers=old)
        assert response.headers["x-a2a-extensions"] == PROGRESS_EXTENSION
    for method in ("SendMessage", "SendStreamingMessage"):
        response = await http.post("/", json=rpc(method, say("a")), headers=new)
        assert response.headers["a2a-extensions"] == PROGRESS_EXTENSION
    for method in ("message/send", "message/stream"):
        response = await http.post("/", json=rpc(method, old_say("a")), headers=old)
        assert response.headers["x-a2a-extensions"] == PROGRESS_EXTENSION
    plain = await http.post("/message:send", json=say("a"), headers=V1)
    assert "a2a-extensions" not in plain.headers


async def test_tasks_are_listed_by_rest_of_0_3(http):
    ids = []
    for text in ("a", "ask", "b"):
        task = (await old_call(http, "message/send", old_say(text)))["result"]
        ids.insert(0, task["id"])
    for path in ("/v1/tasks", "/v1/tasks/"):
        page = (await http.get(path)).json()
        assert [task["id"] for task in page["tasks"]] == ids
    assert page["tasks"][1]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert page["tasks"][1]["status"]["message"]["content"] == [{"text": "what?"}]
    await http.post(f"/v1/tasks/{ids[1]}:cancel")
    for query in ("status=TASK_STATE_CANCELLED", f"contextId={page['tasks'][1]['contextId']}"):
        [found] = (await http.get(f"/v1/tasks?{query}")).json()["tasks"]
        assert found["id"] == ids[1]
    first = (await http.get("/v1/tasks?pageSize=2")).json()
    rest = (await http.get(f"/v1/tasks?pageSize=2&pageToken={first['nextPageToken']}")).json()
    assert sorted(task["id"] for task in first["tasks"] + rest["tasks"]) == sorted(ids)
    refused(await http.get("/v1/tasks?pageSize=0"), 400, "INVALID_ARGUMENT", "INVALID_PARAMS")


async def test_a_callers_data_may_have_a_member_raw(http, agent):
    values = {"raw": "@@@@", "list": [{"raw": "@@@@"}]}
    params = say("", parts=[{"data": values}], metadata=values)
    assert "result" in await call(http, "SendMessage", params)
    assert agent.seen[-1].parts[0].value == values


async def test_wrong_fields_have_their_names_in_json(http):
    error = (await call(http, "SendMessage", {"message": {"role": "ROLE_USER"}}))["error"]
    rest = await http.post("/message:send", json={"message": {"role": "ROLE_USER"}}, headers=V1)
    for details in (error["data"], rest.json()["error"]["details"]):
        fields = [violation["field"] for violation in details[1]["fieldViolations"]]
        assert "message.messageId" in fields
        assert not [field for field in fields if "_" in field]
    content = {"request": {"role": "ROLE_USER", "content": [{"text": "a"}]}}
    old = await http.post("/v1/message:send", json=content)
    assert "message_id" not in old.text
