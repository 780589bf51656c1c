"""Method names of guides and early drafts."""

from __future__ import annotations

import pytest

from tests.support.requests import old_call, old_say


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
