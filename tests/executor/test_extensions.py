"""Extensions of agents, A2UI among them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from a2a_adapters import (
    AgentRequest,
    Data,
    InputRequired,
    Output,
    Rejected,
    RemoteAgent,
    RemoteOptions,
    Reply,
    ServerOptions,
    Text,
    build_app,
)
from a2a_adapters.plugin import A2UI_EXTENSION, TIMESTAMP_EXTENSION, Extension
from a2a_adapters.testing import connect, running, send, user_message
from tests.support.requests import V1, client_of, rpc, say

RHYMES, OTHER = "https://poets.example/rhymes", "https://poets.example/other"
SURFACE = {"version": "v0.9.1", "createSurface": {"surfaceId": "s", "catalogId": "c"}}
COMPONENTS = {
    "version": "v0.9.1",
    "updateComponents": {
        "surfaceId": "s",
        "components": [
            {"id": "root", "component": "Text", "text": "Hello!"},
            {"Text": {"id": "more", "text": "And more."}},
            {"id": "bound", "component": "Text", "text": {"path": "/name"}},
        ],
    },
}


async def poet(request: AgentRequest):
    """Write a line."""
    if request.text == "ask":
        yield InputRequired("Which?", extensions=[RHYMES])
    yield Output(
        [Text(", ".join(sorted(request.extensions)) or "none")], extensions=[RHYMES, OTHER]
    )


def app(target, *uris, required=False):
    listed = [Extension(uri=uri, required=required) for uri in uris]
    return build_app(target, options=ServerOptions(extensions=listed))


async def ask(url, text, *extensions):
    options = RemoteOptions(extensions=extensions)
    async with RemoteAgent(url, options=options) as agent:
        return await agent.send(text)


async def test_activated_extensions_are_announced_and_marked():
    async with running(app(poet, RHYMES)) as url:
        plain = await ask(url, "x")
        both = await ask(url, "x", RHYMES, OTHER)
    assert (plain.text, list(plain.artifacts[0].extensions)) == ("none", [])
    assert (both.text, list(both.artifacts[0].extensions)) == (RHYMES, [RHYMES])


async def test_messages_are_marked_too():
    headers = {**V1, "A2A-Extensions": RHYMES}
    async with client_of(app(poet, RHYMES), headers=headers) as http:
        response = await http.post("/", json=rpc("SendMessage", say("ask")))
    task = response.json()["result"]["task"]
    assert task["status"]["message"]["extensions"] == [RHYMES]
    assert response.headers["A2A-Extensions"] == RHYMES


STAMP = "github.com/a2aproject/a2a-samples/samples/extensions/timestamp/v1/timestamp"


def check_time(of):
    """Check the creation time of an object against the extension's format."""
    assert TIMESTAMP_EXTENSION in of.extensions
    assert datetime.fromisoformat(of.metadata[STAMP]).utcoffset() == timedelta(0)


async def clock(request: AgentRequest):
    """Take some time."""
    yield "tick "
    yield "tock"
    yield Output([Text("ding")], metadata={"loud": True})
    if request.text == "x":
        yield Rejected("It is late.")


async def test_artifacts_carry_timestamps():
    async with running(app(clock, TIMESTAMP_EXTENSION)) as url:
        async with connect(url, extensions=(TIMESTAMP_EXTENSION,)) as client:
            timed = await send(client, user_message("x"))
        streamed = await ask(url, "go on", TIMESTAMP_EXTENSION)
        async with connect(url) as client:
            plain = await send(client, user_message("x"))
    assert streamed.artifacts[0].parts == [Text("tick tock")]
    assert STAMP in streamed.artifacts[0].metadata
    answer, ding = timed.artifacts
    assert "".join(part.text for part in answer.parts) == "tick tock"
    assert (answer.name, ding.metadata["loud"]) == ("answer", True)
    for each in (answer, ding, timed.status.message):
        check_time(each)
    assert not [each for each in plain.artifacts if STAMP in each.metadata or each.extensions]
    assert not plain.status.message.extensions


async def brief(request: AgentRequest) -> Reply:
    """Say yes."""
    return Reply([Text("yes")])


async def test_replies_and_questions_carry_timestamps():
    async with running(app(brief, TIMESTAMP_EXTENSION)) as url:
        assert STAMP in (await ask(url, "x", TIMESTAMP_EXTENSION)).metadata
        assert STAMP not in (await ask(url, "x")).metadata
    async with (
        running(app(poet, TIMESTAMP_EXTENSION)) as url,
        connect(url, extensions=(TIMESTAMP_EXTENSION,)) as client,
    ):
        check_time((await send(client, user_message("ask"))).status.message)


async def test_a_message_without_a_required_extension_is_refused():
    async with client_of(app(poet, RHYMES, required=True), headers=V1) as http:
        response = await http.post("/", json=rpc("SendMessage", say("x")))
        assert (await ask(str(http.base_url), "x", RHYMES)).text == RHYMES
    assert response.json()["error"]["code"] == -32008


def interface(parts):
    async def target(text: str):
        """Show something."""
        yield Output(parts)

    return app(target, A2UI_EXTENSION)


@pytest.mark.parametrize(
    "value", [[SURFACE, COMPONENTS], {"messages": [SURFACE, COMPONENTS]}], ids=["list", "object"]
)
@pytest.mark.parametrize(
    ("beside", "text"), [([Text("Hi.")], "Hi."), ([], "Hello!\nAnd more.")], ids=["text", "none"]
)
async def test_an_interface_is_sent_to_callers_that_activated_it(value, beside, text):
    async with running(interface([*beside, Data(value)])) as url:
        assert (await ask(url, "x")).parts == (Text(text),)
        shown = await ask(url, "x", A2UI_EXTENSION)
    [part] = shown.parts
    assert (part.value, part.media_type) == ([SURFACE, COMPONENTS], "application/a2ui+json")
    assert part.metadata == {"mimeType": "application/a2ui+json"}
    assert list(shown.artifacts[0].extensions) == [A2UI_EXTENSION]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"version": "v0.8", "deleteSurface": {"surfaceId": "s"}}, "version"),
        ({"version": "v0.9.1", "deleteSurface": {}}, "deleteSurface.surfaceId"),
        ({"version": "v0.9.1", "deleteSurface": {"surfaceId": "s"}, "x": 1}, "x"),
        ({**SURFACE, "deleteSurface": {"surfaceId": "s"}}, "it has to be one of"),
        ("createSurface", "1"),
    ],
)
async def test_invalid_interface_messages_are_only_logged(wrong, why, caplog):
    async with running(interface([Data([COMPONENTS, wrong])])) as url:
        shown = await ask(url, "x", A2UI_EXTENSION)
    assert shown.data == [[COMPONENTS]]
    assert "A2UI message 1 is left out" in caplog.text
    assert why in caplog.text


async def test_an_interface_without_valid_messages_becomes_text():
    data = Data([{"version": "v0.9.1", "createSurface": {}}])
    async with running(interface([data])) as url:
        shown = await ask(url, "x", A2UI_EXTENSION)
    assert shown.text == "(This answer is an interface, in A2UI.)"


async def test_other_data_is_unchanged():
    async with running(interface([Data([{"version": 1}])])) as url:
        assert (await ask(url, "x")).data == [[{"version": 1}]]
