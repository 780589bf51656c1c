"""Requests of callers, in the form that their documentation shows or their clients send."""

from __future__ import annotations

import uuid
from functools import partial

import httpx
import pytest

from a2a_adapters import (
    AnyOf,
    ApiKeys,
    BearerAuth,
    BearerTokens,
    PushOptions,
    RemoteAgent,
    ServerOptions,
    build_app,
)
from tests.platforms.agent import answer
from tests.platforms.contract import CARD, text_of
from tests.platforms.gateways import PREFIX, Agentgateway, Kong
from tests.support.inbox import OPEN, inbox
from tests.support.requests import V1, client_of, rpc, say, sse

URL = "https://agents.example.org/greeter"
CREDENTIALS = AnyOf(BearerTokens({"secret": "ann"}), ApiKeys({"key": "foundry"}))
KEY = {"X-API-Key": "key"}
TOKEN = {"Authorization": "Bearer secret"}


@pytest.fixture
async def http():
    options = ServerOptions(authentication=CREDENTIALS)
    async with client_of(build_app(answer, url=URL, options=options)) as client:
        yield client


def old_message(text, **fields):
    said = {"kind": "message", "messageId": uuid.uuid4().hex, "role": "user"}
    return {"message": said | {"parts": [{"kind": "text", "text": text}]} | fields}


@pytest.mark.parametrize(
    "path", ["/.well-known/agent-card.json", "/.well-known/agent.json", "/v1/card"]
)
async def test_cards_are_found_without_credentials_and_name_the_public_address(http, path):
    card = (await http.get(path)).json()
    assert card["url"] == f"{URL}/"
    places = [each["url"] for each in card["supportedInterfaces"]]
    assert all(place.rstrip("/") in {URL, f"{URL}/v1"} for place in places)
    assert set(card["securitySchemes"]) == {"bearer", "apiKey"}


async def test_the_registry_of_gemini_enterprise(http):
    """It sends HTTP+JSON of 0.3, with `content` and the roles of protobuf."""
    said = {"role": "ROLE_USER", "messageId": "g1", "content": [{"text": "hello"}]}
    answered = await http.post("/v1/message:send", headers=TOKEN, json={"request": said})
    assert "hello" in answered.text
    body = {"message": said | {"messageId": "g2"}}
    async with http.stream("POST", "/v1/message:stream", headers=TOKEN, json=body) as stream:
        events = sse((await stream.aread()).decode())
    assert events


@pytest.mark.parametrize("is_new", [True, False], ids=["1.0", "0.3"])
async def test_foundry_sends_a_key_in_either_version(http, is_new):
    headers = KEY | V1 if is_new else KEY
    body = rpc("SendMessage", say("hello")) if is_new else rpc("message/send", old_message("hello"))
    answered = (await http.post("/", headers=headers, json=body)).json()["result"]
    assert text_of(answered["task"] if is_new else answered) == "hello"


async def test_joule_and_watsonx_send_old_messages_with_a_token(http):
    first = await http.post("/", headers=TOKEN, json=rpc("message/send", old_message("ask")))
    asked = first.json()["result"]
    assert asked["status"]["state"] == "input-required"
    reply = old_message("Ann", taskId=asked["id"], contextId=asked["contextId"])
    done = await http.post("/", headers=TOKEN, json=rpc("message/send", reply))
    assert text_of(done.json()["result"]) == "Hello, Ann!"


async def test_wso2_posts_to_rpc(http):
    answered = await http.post("/rpc", headers=TOKEN | V1, json=rpc("SendMessage", say("hello")))
    assert text_of(answered.json()["result"]["task"]) == "hello"


async def test_servicenow_gets_the_end_of_a_task_by_push():
    options = ServerOptions(authentication=CREDENTIALS, push=PushOptions(outbound=OPEN))
    app = build_app(answer, options=options)
    async with inbox() as box, client_of(app, TOKEN) as http:
        params = old_message("hello")
        config = {"url": box.url, "token": "t"}
        params["configuration"] = {"blocking": False, "pushNotificationConfig": config}
        sent = await http.post("/", json=rpc("message/send", params))
        assert "result" in sent.json(), sent.text
        await box.until_over()
        assert box.headers[-1]["x-a2a-notification-token"] == "t"


GATEWAYS = {
    "agentgateway": (partial(Agentgateway, strips=False), {"root_path": PREFIX}, True),
    "agentgateway, prefix stripped": (partial(Agentgateway, strips=True), {}, False),
    "Kong": (partial(Kong, strips=True), {"trust_forwarded": True}, False),
    "Kong, named": (partial(Kong, strips=True), {}, True),
    "Kong, streams buffered": (partial(Kong, strips=True, is_buffering=True), {}, True),
}
"""Gateways, with the options of an agent behind each, and whether these name the address."""


@pytest.mark.parametrize("name", GATEWAYS)
async def test_a_gateway_shows_its_own_address_to_clients_of_both_versions(name):
    make, more, is_named = GATEWAYS[name]
    options = ServerOptions(authentication=CREDENTIALS, **more)

    def behind(url):
        return build_app(answer, url=url if is_named else None, options=options)

    async with (
        make().before(behind) as url,
        RemoteAgent(url, auth=BearerAuth("secret")) as remote,
        httpx.AsyncClient(headers=TOKEN, timeout=60) as http,
    ):
        card = (await http.get(f"{url}/{CARD}")).json()
        places = {each["protocolBinding"]: each["url"] for each in card["supportedInterfaces"]}
        assert all(place.startswith(url) for place in places.values())
        body = rpc("SendMessage", say("hello"))
        sent = await http.post(places["JSONRPC"], headers=V1, json=body)
        assert text_of(sent.json()["result"]["task"]) == "hello"
        if name != "agentgateway, prefix stripped":  # which leaves the address of 0.3 alone
            sent = await http.post(card["url"], json=rpc("message/send", old_message("hello")))
            assert text_of(sent.json()["result"]) == "hello"
        asked = await remote.send("ask")
        assert (await remote.send("Ann", task_id=asked.task_id)).text == "Hello, Ann!"
        assert "".join([each.text async for each in remote.stream("streamed")][:-1]) == "streamed"
