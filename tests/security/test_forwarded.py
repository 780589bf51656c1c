"""Users named by a front in a header."""

from __future__ import annotations

import pytest

from a2a_adapters import (
    AgentRequest,
    AnyOf,
    BearerTokens,
    ConfigurationError,
    ForwardedUser,
    ServerOptions,
    build_app,
)
from tests.support.requests import V1, client_of, rpc, say

BOTH = AnyOf(BearerTokens({"secret": "job"}), ForwardedUser("X-User"))


async def whoami(request: AgentRequest) -> str:
    """Name the caller."""
    return request.owner


@pytest.fixture
async def http():
    options = ServerOptions(authentication=BOTH, trust_forwarded=True)
    async with client_of(build_app(whoami, options=options)) as client:
        yield client


async def ask(http, **headers):
    return await http.post("/", headers=V1 | headers, json=rpc("SendMessage", say("hello")))


def owner_of(response):
    return response.json()["result"]["task"]["artifacts"][0]["parts"][0]["text"]


async def test_the_header_names_the_owner(http):
    answer = await ask(http, **{"x-user": "ann@example.org"})
    assert owner_of(answer) == "ann@example.org"
    assert owner_of(await ask(http, authorization="Bearer secret")) == "job"
    task = {"id": answer.json()["result"]["task"]["id"]}
    body = rpc("GetTask", task)
    found = await http.post("/", headers=V1 | {"x-user": "ann@example.org"}, json=body)
    assert found.json()["result"]["id"] == task["id"]
    hidden = await http.post("/", headers=V1 | {"x-user": "bob@example.org"}, json=body)
    assert hidden.json()["error"]["code"] == -32001


@pytest.mark.parametrize("headers", [{}, {"x-user": ""}, {"x-user": "root, ann"}])
async def test_requests_without_one_user_are_refused(http, headers):
    assert (await ask(http, **headers)).status_code == 401


async def test_two_headers_are_refused(http):
    headers = [*V1.items(), ("x-user", "root"), ("x-user", "ann")]
    answer = await http.post("/", headers=headers, json=rpc("SendMessage", say("hello")))
    assert answer.status_code == 401


async def test_the_card_names_only_what_clients_can_send(http):
    card = (await http.get("/.well-known/agent-card.json")).json()
    assert list(card["securitySchemes"]) == ["bearer"]


@pytest.mark.parametrize("authentication", [ForwardedUser(), BOTH])
def test_it_needs_a_trusted_front(authentication):
    with pytest.raises(ConfigurationError, match="--trust-forwarded"):
        ServerOptions(authentication=authentication)


def test_names_that_no_header_can_have_are_refused():
    with pytest.raises(ConfigurationError, match="not the name of a header"):
        ForwardedUser("X User")
