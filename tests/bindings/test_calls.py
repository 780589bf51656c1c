"""JSON-RPC calls: their ids, malformed ones, and the method names of guides and early drafts."""

from __future__ import annotations

import pytest

from tests.bindings.test_bindings import version
from tests.support.requests import V1, old_call, old_say, rpc, say


async def test_ids_of_calls(http):
    for call_id in ("x", 7, None, "\u2028"):
        answer = await http.post("/", json=rpc("SendMessage", say("a"), call_id), headers=V1)
        assert answer.json()["id"] == call_id
    for call_id in (True, [], {}):
        answer = (
            await http.post("/", json=rpc("SendMessage", say("a"), call_id), headers=V1)
        ).json()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize("number", [1.0, 1.5, -3, 10**30])
async def test_any_number_is_an_id(http, number):
    for body, headers in (
        (rpc("SendMessage", say("a"), number), V1),
        (rpc("message/send", old_say("a"), number), {}),
        (rpc("GetTask", {}, number), V1),
    ):
        assert (await http.post("/", json=body, headers=headers)).json()["id"] == number


WITHOUT_ID = [
    ("SendMessage", say("a"), V1, -32600),
    ("SendStreamingMessage", say("a"), V1, -32600),
    ("message/send", old_say("a"), {}, -32600),
    ("message/stream", old_say("a"), {}, -32600),
    ("GetTask", {"id": "none"}, V1, -32600),
    ("SendMessage", {"message": 1}, V1, -32602),
    ("Unknown", {}, V1, -32601),
    ("unknown", {}, {}, -32601),
    ("SendMessage", {}, version("9.9"), -32009),
]


@pytest.mark.parametrize(("method", "params", "headers", "code"), WITHOUT_ID)
async def test_a_call_without_an_id_is_refused(http, agent, method, params, headers, code):
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    response = await http.post("/", json=body, headers=headers)
    answer = response.json()
    assert (response.status_code, answer["id"], answer["error"]["code"]) == (200, None, code)
    assert not agent.seen


async def test_malformed_calls_are_refused_without_an_id(http):
    for body in ({"jsonrpc": "2.0"}, {"method": "SendMessage"}, []):
        answer = (await http.post("/", json=body, headers=V1)).json()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)


async def begun(http):
    return (await old_call(http, "message/send", old_say("hello")))["result"]


async def test_the_tasks_of_a_conversation_are_listed(http):
    task = await begun(http)
    await begun(http)
    asked = {"contextId": task["contextId"], "status": "completed", "includeArtifacts": True}
    page = (await old_call(http, "tasks/list", asked))["result"]
    listed = [{**task, "history": page["tasks"][0].get("history", [])}]
    task.setdefault("history", [])
    assert (page["tasks"], page["totalSize"], page["nextPageToken"]) == (listed, 1, "")
    asked["status"] = "working"
    assert (await old_call(http, "tasks/list", asked))["result"]["tasks"] == []
    asked["status"] = "asleep"
    assert (await old_call(http, "tasks/list", asked))["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("tasks/resubscribe", "tasks/subscribe"),
        ("tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/create"),
        ("agent/getAuthenticatedExtendedCard", "agent/getExtendedCard"),
    ],
)
async def test_a_method_can_be_called_by_its_alias(http, name, alias):
    params = {"id": (await begun(http))["id"]}
    params |= {"taskId": params["id"], "pushNotificationConfig": {"url": "https://example.org"}}
    answers = [
        await http.post("/", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        for method in (name, alias)
    ]
    assert answers[0].text == answers[1].text
    assert "-32601" not in answers[1].text


@pytest.mark.parametrize(
    ("method", "today"),
    [
        ("tasks/send", "message/send"),
        ("tasks/sendSubscribe", "message/stream"),
        ("tasks/pushNotification/set", "tasks/pushNotificationConfig/set"),
    ],
)
async def test_a_method_of_an_early_draft_is_refused_with_the_current_name(http, method, today):
    error = (await old_call(http, method, {"id": "1"}))["error"]
    assert (error["code"], today in error["message"]) == (-32601, True)
