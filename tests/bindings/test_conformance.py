"""A test for each gap in a2a-sdk's defaults."""

from __future__ import annotations

import base64
import json

import pytest

from a2a_adapters import Limits, ServerOptions
from a2a_adapters.plugin import Extension
from tests.support.requests import (
    MESSAGE,
    OLD_MESSAGE,
    V1,
    Agent,
    call,
    old_call,
    old_say,
    proto_say,
    refused,
    rpc,
    say,
    serving,
    sse,
)


@pytest.fixture
async def http():
    async with serving(Agent()) as client:
        yield client


async def no_tasks(http):
    return (await call(http, "ListTasks", {}))["result"]["tasks"] == []


async def test_an_unsupported_media_type_is_refused(http):
    picture = {"raw": base64.b64encode(b"x").decode(), "mediaType": "image/png"}
    params = {"message": {**MESSAGE, "parts": [picture]}}
    assert (await call(http, "SendMessage", params))["error"]["code"] == -32005
    rest = await http.post("/message:send", json=params, headers=V1)
    refused(rest, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED")
    assert await no_tasks(http)


@pytest.mark.parametrize(
    ("media_type", "fits"),
    [
        ("text/plain", True),
        ("text/plain; charset=utf-8", True),
        ("TEXT/PLAIN", True),
        ("", True),
        ("text/html", False),
        ("text", False),
        ("image/png; name=text/plain", False),
    ],
)
async def test_media_types_are_compared_by_type_and_subtype(media_type, fits):
    async with serving(Agent(input_modes=["Text/Plain;charset=UTF-8"])) as http:
        params = say("", parts=[{"text": "a", "mediaType": media_type}])
        answer = await call(http, "SendMessage", params)
        rest = await http.post("/message:send", json=params, headers=V1)
        assert ("result" in answer, rest.is_success) == (fits, fits)
        if not fits:
            assert answer["error"]["code"] == -32005
            assert "Text/Plain" in answer["error"]["message"]


async def test_an_agent_may_take_any_subtype():
    picture = {"raw": "eA==", "mediaType": "image/PNG"}
    async with serving(Agent(input_modes=["image/*"])) as http:
        assert "result" in await call(http, "SendMessage", say("", parts=[picture]))
        sound = {**picture, "mediaType": "audio/mpeg"}
        answer = await call(http, "SendMessage", say("", parts=[sound]))
        assert answer["error"]["code"] == -32005


@pytest.mark.parametrize(
    ("modes", "fits"),
    [
        (["image/png"], False),
        (["image/*", "audio/mpeg"], False),
        (["TEXT/plain; charset=utf-8"], True),
        (["image/png", "text/*"], True),
        (["*/*"], True),
        (["text"], True),
        ([], True),
    ],
)
async def test_a_caller_that_accepts_no_output_mode_is_refused(http, modes, fits):
    params = {**say("hello"), "configuration": {"acceptedOutputModes": modes}}
    answer = await call(http, "SendMessage", params)
    assert ("result" in answer) == fits
    if not fits:
        assert answer["error"]["code"] == -32005
        assert "text/plain" in answer["error"]["message"]
        assert await no_tasks(http)


async def test_a_message_by_an_agent_is_refused(http):
    params = say("hello", role="ROLE_AGENT")
    assert (await call(http, "SendMessage", params))["error"]["code"] == -32602
    assert (await old_call(http, "message/send", old_say("hello", role="agent")))["error"][
        "code"
    ] == -32602
    rest = await http.post("/message:send", json=params, headers=V1)
    refused(rest, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
    assert await no_tasks(http)


@pytest.mark.parametrize("path", ["/message:send", "/message:stream", "/v1/message:send"])
@pytest.mark.parametrize("body", [b'{"a": "\xff"}', b"{", b"", b"[]", b"3", b"null"])
async def test_bodies_that_are_not_json_objects_are_bad_requests(http, path, body):
    headers = {"Content-Type": "application/json", **({} if path.startswith("/v1") else V1)}
    response = await http.post(path, content=body, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["status"] == "INVALID_ARGUMENT"


async def test_a_required_extension_is_enforced():
    uri = "https://example.org/extensions/needed"
    agent = Agent(extensions=[Extension(uri=uri, required=True, params={"a": [1]})])
    async with serving(agent) as http:
        card = (await http.get("/.well-known/agent-card.json")).json()
        [listed] = [e for e in card["capabilities"]["extensions"] if e["uri"] == uri]
        assert listed == {"uri": uri, "required": True, "params": {"a": [1]}}
        assert (await call(http, "SendMessage", say("a")))["error"]["code"] == -32008
        assert (await old_call(http, "message/send", old_say("a")))["error"]["code"] == -32008
        rest = await http.post("/message:send", json=say("a"), headers=V1)
        refused(rest, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED")
        assert agent.seen == []

        activated = V1 | {"A2A-Extensions": f"https://example.org/other, {uri}"}
        assert "result" in await call(http, "SendMessage", say("a"), activated)
        assert uri in agent.seen[-1].extensions
        old = {"X-A2A-Extensions": uri}
        assert "result" in await call(http, "message/send", old_say("a"), old)
        in_message = say("a", extensions=[uri, "https://example.org/other"])
        assert "result" in await call(http, "SendMessage", in_message)
        assert [request.extensions for request in agent.seen] == [{uri}] * 3


@pytest.mark.parametrize("context", [{}, {"contextId": "c"}])
async def test_follow_ups_stay_in_the_context_of_their_task(http, context):
    first = (await call(http, "SendMessage", say("ask", **context)))["result"]["task"]
    again = say("ask", taskId=first["id"])
    for _ in range(3):
        follow = (await call(http, "SendMessage", again))["result"]["task"]
        assert follow["contextId"] == first["contextId"]
        if follow["status"]["state"] == "TASK_STATE_COMPLETED":
            break
    else:
        pytest.fail("the question was never answered")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"message": 3},
        {"message": {**OLD_MESSAGE, "role": "nobody"}},
        {"message": {**OLD_MESSAGE, "parts": "hello"}},
        {"message": {**OLD_MESSAGE, "parts": []}},
        {"message": {"kind": "message"}},
    ],
)
async def test_wrong_params_of_0_3_are_invalid_params(http, params):
    assert (await old_call(http, "message/send", params))["error"]["code"] == -32602
    streamed = (await http.post("/", json=rpc("message/stream", params))).text
    assert json.loads(streamed.removeprefix("data: "))["error"]["code"] == -32602
    assert await no_tasks(http)


@pytest.mark.parametrize(
    "part",
    [
        {"text": "which kind?", "data": {}},
        {"type": "data", "text": "hello"},
        {"metadata": {}},
        {"kind": "data", "text": "hello"},
        {"kind": "text", "data": {}},
        {"kind": "video", "text": "hello"},
        {"kind": None, "text": "hello"},
        {"kind": ["text"], "text": "hello"},
        {"kind": "file", "file": {"bytes": "~~~"}},
        {"kind": "data", "data": {}, "metadata": {"data_part_compat": True}},
        "hello",
    ],
)
async def test_parts_of_0_3_have_one_kind(http, part):
    params = {"message": {**OLD_MESSAGE, "parts": [part]}}
    assert (await old_call(http, "message/send", params))["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("text", "state"), [("ask", "input-required"), ("authorise", "auth-required")]
)
async def test_a_question_is_final_in_streams_of_0_3(http, text, state):
    response = await http.post("/", json=rpc("message/stream", old_say(text)))
    last = sse(response.text)[-1]["result"]
    assert (last["status"]["state"], last["final"]) == (state, True)
    rest = await http.post("/v1/message:stream", json=proto_say(text))
    assert sse(rest.text)[-1]["statusUpdate"]["final"] is True


async def test_subscribing_to_an_unknown_task_of_0_3(http):
    for verb in ("GET", "POST"):
        response = await http.request(verb, "/v1/tasks/none:subscribe")
        refused(response, 404, "NOT_FOUND", "TASK_NOT_FOUND")
    # Clients of 0.3 expect a stream here, even for errors.
    stream = await http.post("/", json=rpc("tasks/resubscribe", {"id": "none"}))
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert [event["error"]["code"] for event in sse(stream.text)] == [-32001]


async def test_artifacts_are_closed(http):
    response = await http.post("/", json=rpc("SendStreamingMessage", say("hi")), headers=V1)
    chunks = [
        e["result"]["artifactUpdate"] for e in sse(response.text) if "artifactUpdate" in e["result"]
    ]
    assert [chunk.get("lastChunk", False) for chunk in chunks][-1] is True
    assert "append" not in chunks[0]


async def test_paths_may_end_with_a_slash(http):
    assert "result" in (await http.post("/", json=rpc("SendMessage", say("a")), headers=V1)).json()
    for path in ("/message:send/", "/tenant/message:send/"):
        assert (await http.post(path, json=say("a"), headers=V1)).status_code == 200
    assert (await http.get("/tasks/", headers=V1)).status_code == 200


async def test_every_stream_has_plain_line_ends(http):
    odd = "one\u2028two\u2029three\u0085four\r\nfive"
    streams = [
        await http.post("/", json=rpc("SendStreamingMessage", say(odd)), headers=V1),
        await http.post("/message:stream", json=say(odd), headers=V1),
        await http.post("/", json=rpc("message/stream", old_say(odd))),
        await http.post("/v1/message:stream", json=proto_say(odd)),
    ]
    for stream in streams:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert odd in texts(sse(stream.text))


async def test_errors_over_rest_have_the_media_type_of_their_version():
    options = ServerOptions(limits=Limits(body_bytes=1000))
    async with serving(Agent(), options=options) as http:
        large = say("x" * 2000)
        for path, body in (
            ("/message:send", {}),
            ("/message:send", large),
            ("/tasks/none:cancel", {}),
            ("/nothing/to/see/here", {}),
        ):
            for prefix, headers, media_type in (
                ("", V1, "application/a2a+json"),
                ("/v1", {}, "application/json"),
            ):
                response = await http.post(f"{prefix}{path}", json=body, headers=headers)
                assert response.headers["content-type"] == media_type
                assert response.json()["error"]["code"] == response.status_code >= 400


def texts(value):
    """Return every string in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


async def test_no_exception_reaches_the_wire(http):
    text = "fail"
    answers = [
        await http.post("/", json=rpc("SendMessage", say(text)), headers=V1),
        await http.post("/", json=rpc("SendStreamingMessage", say(text)), headers=V1),
        await http.post("/message:send", json=say(text), headers=V1),
        await http.post("/message:stream", json=say(text), headers=V1),
        await http.post("/", json=rpc("message/send", old_say(text))),
        await http.post("/", json=rpc("message/stream", old_say(text))),
        await http.post("/v1/message:send", json=proto_say(text)),
        await http.post("/v1/message:stream", json=proto_say(text)),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert "SECRET" not in answer.text
        assert "The agent failed" in answer.text
