"""The card as read by clients of both versions."""

from __future__ import annotations

import httpx
import pytest
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import APIKeySecurityScheme, SecurityScheme

from a2a_adapters import (
    Card,
    ConfigurationError,
    NamedTarget,
    Provider,
    ServerOptions,
    Skill,
    build_app,
)
from a2a_adapters.plugin import AgentDescription
from a2a_adapters.protocol.card import build_card, card_json
from a2a_adapters.testing import running
from tests.support.requests import serving

PATHS = ["/.well-known/agent-card.json", "/.well-known/agent.json"]


def hello(text: str) -> str:
    """Say hello."""
    return text


@pytest.mark.parametrize("url", ["https://agents.example.org", ""])
@pytest.mark.parametrize("has_extended", [True, False])
def test_its_json_is_that_of_a2a_sdk(url, has_extended):
    key = SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(name="key", location="header")
    )
    skills = [Skill(id="hello", name="Hello", description="Say hello.", examples=["Hi"])]
    about = AgentDescription(name="hello", description="Says hello.", version="1", skills=skills)
    card = build_card(about, url, security_schemes={"key": key}, has_extended=has_extended)
    assert card_json(card) == agent_card_to_dict(card)


async def fetch(app, path=PATHS[0], **headers):
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        return url, await http.get(path, headers=headers)


@pytest.mark.parametrize("path", PATHS)
async def test_it_is_readable_by_1_0_and_0_3(path):
    url, response = await fetch(build_app(hello), path)
    card = response.json()
    bindings = [(i["protocolBinding"], i["protocolVersion"]) for i in card["supportedInterfaces"]]
    assert bindings == [
        ("JSONRPC", "1.0"),
        ("HTTP+JSON", "1.0"),
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "0.3"),
    ]
    assert card["url"] == f"{url}/"
    assert card["protocolVersion"] == "0.3"
    assert card["preferredTransport"] == "JSONRPC"
    assert card["capabilities"]["streaming"] is True
    assert (card["name"], card["description"]) == ("hello", "Say hello.")
    assert card["skills"][0]["tags"]


async def test_name_description_and_url_can_be_given():
    app = build_app(hello, name="Greeter", description="Greets.", url="https://a.example/x/")
    _, response = await fetch(app)
    card = response.json()
    assert (card["name"], card["description"]) == ("Greeter", "Greets.")
    assert {i["url"] for i in card["supportedInterfaces"]} == {
        "https://a.example/x/",
        "https://a.example/x",
    }


async def test_forwarded_headers_are_trusted_only_if_enabled():
    forwarded = {
        "x-forwarded-proto": "https",
        "x-forwarded-host": "agents.example, proxy",
        "x-forwarded-prefix": "/hello",
    }
    url, response = await fetch(build_app(hello), **forwarded)
    assert response.json()["url"] == f"{url}/"
    trusting = build_app(hello, options=ServerOptions(trust_forwarded=True))
    _, response = await fetch(trusting, **forwarded)
    assert response.json()["url"] == "https://agents.example/hello/"
    url, response = await fetch(trusting)
    assert response.json()["url"] == f"{url}/"


@pytest.mark.parametrize(
    ("headers", "address"),
    {
        "nothing": ({}, "http://a.example"),
        "ALB": ({"x-forwarded-proto": "https", "x-forwarded-port": "443"}, "https://a.example"),
        "another port": ({"x-forwarded-port": "8443"}, "http://a.example:8443"),
        "host and port": (
            {"x-forwarded-host": "b.example:81", "x-forwarded-port": "80"},
            "http://b.example:81",
        ),
        "IPv6": ({"x-forwarded-host": "[::1]", "x-forwarded-port": "81"}, "http://[::1]:81"),
        "Forwarded": (
            {"forwarded": 'for="[2001:db8::1]:47";Proto=https;host="b.example:8443", host=c'},
            "https://b.example:8443",
        ),
        "API Gateway": (
            {"forwarded": "by=192.0.2.1;for=192.0.2.2;host=b.example;proto=https"},
            "https://b.example",
        ),
        "both": (
            {"forwarded": "host=evil.example;proto=ftp", "x-forwarded-host": "b.example",
             "x-forwarded-proto": "https"},
            "https://b.example",
        ),
        "rubbish": ({"forwarded": ";;=,host", "x-forwarded-port": "many"}, "http://a.example"),
    }.values(),
)  # fmt: skip
async def test_addresses_of_clients_of_a_proxy(headers, address):
    _, response = await fetch(
        build_app(hello, options=ServerOptions(trust_forwarded=True, allowed_hosts=["*"])),
        host="a.example",
        **headers,
    )
    assert response.json()["url"] == f"{address}/"


async def test_it_can_be_cached():
    async with serving(hello) as http:
        first = await http.get(PATHS[0])
        assert "max-age" in first.headers["cache-control"]
        assert "GMT" in first.headers["last-modified"]
        again = await http.get(PATHS[0], headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_conditions_are_understood():
    async with serving(hello) as http:
        first = (await http.get(PATHS[0])).headers
        etag, changed = first["etag"], first["last-modified"]
        past, future = "Thu, 01 Jan 2015 00:00:00 GMT", "Thu, 01 Jan 2099 00:00:00 GMT"
        for headers, status in (
            ({"If-None-Match": "*"}, 304),
            ({"If-None-Match": f'"other", W/{etag}'}, 304),
            ({"If-None-Match": '"other"'}, 200),
            ({"If-None-Match": etag[1:-1]}, 200),
            ({"If-Modified-Since": changed}, 304),
            ({"If-Modified-Since": future}, 304),
            ({"If-Modified-Since": past}, 200),
            ({"If-Modified-Since": "yesterday"}, 200),
            ({"If-Modified-Since": "Thu, 01 Jan 2099 00:00:00 -0000"}, 200),
            ({"If-None-Match": '"other"', "If-Modified-Since": future}, 200),
        ):
            for verb in ("GET", "HEAD"):
                answer = await http.request(verb, PATHS[0], headers=headers)
                assert answer.status_code == status, headers


@pytest.mark.parametrize("path", PATHS)
async def test_its_options(path):
    async with serving(hello) as http:
        answer = await http.options(path)
    assert (answer.status_code, answer.headers["allow"]) == (204, "GET, HEAD, OPTIONS")


def test_skills_are_listed():
    about = AgentDescription(
        name="a",
        description="b",
        skills=[Skill(id="s", name="S", description="Does it.", tags=["t"], examples=["e"])],
    )
    [skill] = build_card(about, "http://x").skills
    assert (skill.id, skill.name, list(skill.tags), list(skill.examples)) == (
        "s",
        "S",
        ["t"],
        ["e"],
    )


REFUND = Skill(id="refund", name="Refund", description="Pays back.", tags=["money"])


async def card_of(app, path=PATHS[0]):
    return (await fetch(app, path))[1].json()


async def test_a_card_replaces_what_is_derived():
    card = Card(
        name="Desk",
        version="2.1.0",
        skills=[REFUND],
        provider=Provider("Example Ltd", "https://example.com"),
        icon_url="https://example.com/desk.png",
        documentation_url="https://example.com/desk",
        input_modes=["text/plain", "image/png"],
        output_modes=["text/plain"],
    )
    seen = await card_of(build_app(hello, card=card))
    assert (seen["name"], seen["description"]) == ("Desk", "Say hello.")
    assert seen["version"] == "2.1.0"
    assert [(skill["id"], skill["tags"]) for skill in seen["skills"]] == [("refund", ["money"])]
    assert seen["provider"] == {"organization": "Example Ltd", "url": "https://example.com"}
    assert seen["iconUrl"] == "https://example.com/desk.png"
    assert seen["documentationUrl"] == "https://example.com/desk"
    assert seen["defaultInputModes"] == ["text/plain", "image/png"]
    assert seen["skills"][0]["outputModes"] == ["text/plain"]


async def test_a_card_adds_tags_and_examples_to_the_skill():
    seen = await card_of(build_app(hello, card=Card(tags=["chat"], examples=["Hello!"])))
    [skill] = seen["skills"]
    assert (skill["tags"], skill["examples"]) == (["chat"], ["Hello!"])
    assert skill["description"] == "Say hello."


async def test_a_target_may_bring_its_card():
    @Card(version="3.0.0", tags=["chat"], name="Echo")
    def echo(text: str) -> str:
        """Repeat."""
        return text

    seen = await card_of(build_app(echo, name="Parrot", card=Card(version="4.0.0")))
    assert (seen["name"], seen["version"], seen["skills"][0]["tags"]) == (
        "Parrot",
        "4.0.0",
        ["chat"],
    )
    agents = {"a": echo, "b": NamedTarget(echo, card=Card(version="5.0.0"))}
    app = build_app(agents)
    assert (await card_of(app, f"/agents/a{PATHS[0]}"))["name"] == "Echo"
    assert (await card_of(app, f"/agents/b{PATHS[0]}"))["version"] == "5.0.0"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Card(tags="chat"), r"Card.tags must be .*, such as \['chat'\]"),
        (lambda: Card(skills=["chat"]), r"must be a list of Skill\(...\), but it contains str"),
        (lambda: Card(icon_url="desk.png"), "Card.icon_url must be a web address"),
        (lambda: Card(provider=Provider("E", "e")), "Card.provider.url must be a web address"),
        (lambda: build_app(hello, card={"version": "1"}), r"card must be Card\(...\)"),
        (lambda: build_app({"a": hello}, card=Card(version="1")), "use NamedTarget for several"),
        (
            lambda: build_app(hello, card=Card(skills=[REFUND, REFUND], tags=["x"])),
            "has 2 skills: give tags and examples to each",
        ),
    ],
)
def test_a_wrong_card_is_refused(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()
