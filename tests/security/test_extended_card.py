"""The card for authenticated callers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from a2a.types import GetExtendedAgentCardRequest

from a2a_adapters import BearerTokens, ConfigurationError, ServerOptions, Skill, build_app
from a2a_adapters.testing import connect, running
from tests.support.requests import V1, client_of, rpc

if TYPE_CHECKING:
    from a2a_adapters.plugin import AgentDescription

ANN = {"Authorization": "Bearer secret"}
CARD = "/.well-known/agent-card.json"


def echo(text: str) -> str:
    """Repeat the text."""
    return text


def extend(about: AgentDescription, user: str) -> AgentDescription:
    skill = Skill(id="refund", name="Refund", description=f"Pays {user} back.")
    return replace(about, skills=[*about.skills, skill])


def served(target=echo, **options):
    tokens = BearerTokens({"secret": "ann"})
    options = {"authentication": tokens, "extended_description": extend} | options
    return build_app(target, options=ServerOptions(**options))


def asked(target=echo, **options):
    return client_of(served(target, **options), headers=V1 | ANN)


async def test_authenticated_callers_get_it_by_every_binding_and_version():
    async with asked() as http:
        public = (await http.get(CARD)).json()
        assert public["capabilities"]["extendedAgentCard"] is True
        assert public["supportsAuthenticatedExtendedCard"] is True
        assert "refund" not in str(public)
        rest = await http.get("/extendedAgentCard")
        assert rest.headers["cache-control"] == "no-store"
        for card in (
            (await http.post("/", json=rpc("GetExtendedAgentCard", {}))).json()["result"],
            rest.json(),
        ):
            assert card["skills"][:-1] == public["skills"]
            assert card["skills"][-1]["description"] == "Pays ann back."
            assert card["supportedInterfaces"] == public["supportedInterfaces"]
            assert card["securityRequirements"] == public["securityRequirements"]
        del http.headers["A2A-Version"]
        old = (await http.post("/", json=rpc("agent/getAuthenticatedExtendedCard", {}))).json()
        assert old["result"]["skills"][-1]["description"] == "Pays ann back."
        assert old["result"]["url"] == public["url"]


async def test_anonymous_callers_do_not_get_the_extended_card():
    async with client_of(served(), headers=V1) as http:
        assert (await http.post("/", json=rpc("GetExtendedAgentCard", {}))).status_code == 401
        assert (await http.get("/extendedAgentCard")).status_code == 401


async def test_each_of_several_agents_has_its_own():
    async with asked({"one": echo, "two": echo}) as http:
        card = (await http.get("/agents/two/extendedAgentCard")).json()
    assert card["name"] == "two"
    assert card["supportedInterfaces"][0]["url"] == f"{http.base_url}/agents/two/"


async def test_an_agent_without_one_says_so():
    async with asked(extended_description=None) as http:
        assert "extendedAgentCard" not in (await http.get(CARD)).json()["capabilities"]
        error = (await http.post("/", json=rpc("GetExtendedAgentCard", {}))).json()["error"]
        assert error["code"] == -32004


async def test_a_failing_extension_reveals_nothing():
    def fail(about, user):
        raise RuntimeError("hunter2")

    async with asked(extended_description=fail) as http:
        answer = await http.post("/", json=rpc("GetExtendedAgentCard", {}))
    assert answer.json()["error"]["code"] == -32603
    assert "hunter2" not in answer.text


def test_the_extended_card_needs_authentication():
    with pytest.raises(ConfigurationError, match="needs authentication"):
        ServerOptions(extended_description=extend)


async def test_the_official_client_gets_it(monkeypatch):
    async with running(served()) as url, connect(url, user="ann") as client:
        monkeypatch.setitem(
            client._transport.httpx_client.headers, "Authorization", "Bearer secret"
        )
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    assert card.skills[-1].id == "refund"
