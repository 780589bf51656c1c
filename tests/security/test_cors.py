"""Access of web pages in a browser to an agent."""

from __future__ import annotations

import pytest

from a2a_adapters import BearerTokens, ConfigurationError, ServerOptions
from tests.support.requests import V1, rpc, say, serving

CHAT = "https://chat.example"
CARD = "/.well-known/agent-card.json"
SEND = rpc("SendMessage", say("hello"))
TOKENS = BearerTokens({"secret": "ann"})


async def echo(text):
    return text


def served(**options):
    return serving(echo, options=ServerOptions(**options), headers=V1)


def asking(origin, *headers):
    """Return the headers of a browser's preflight request."""
    wanted = ", ".join(("content-type", "a2a-version", *headers))
    return {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": wanted,
    }


@pytest.mark.parametrize("options", [{}, {"authentication": TOKENS}])
async def test_a_page_that_is_allowed(options):
    async with served(cors_origins=[CHAT], **options) as http:
        for path in ("/", "/message:stream", CARD):
            asked = await http.options(path, headers=asking(CHAT, "authorization"))
            assert asked.status_code == 200
            assert asked.headers["access-control-allow-origin"] == CHAT
            assert "authorization" in asked.headers["access-control-allow-headers"].lower()
        sent = {"Origin": CHAT, "Authorization": "Bearer secret"}
        for answer in (
            await http.post("/", json=SEND, headers=sent),
            await http.post("/message:stream", json=say("hello"), headers=sent),
            await http.get(CARD, headers=sent),
        ):
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == CHAT
            assert "A2A-Extensions" in answer.headers["access-control-expose-headers"]
            assert "access-control-allow-credentials" not in answer.headers


async def test_a_page_can_read_why_it_was_refused():
    async with served(cors_origins=[CHAT], authentication=TOKENS) as http:
        answer = await http.post("/", json=SEND, headers={"Origin": CHAT})
    assert answer.status_code == 401
    assert answer.headers["access-control-allow-origin"] == CHAT


@pytest.mark.parametrize("options", [{}, {"cors_origins": [CHAT]}])
@pytest.mark.parametrize("origin", ["https://evil.example", "http://chat.example", "null"])
async def test_other_pages_may_not(options, origin):
    for authentication in (None, TOKENS):
        async with served(authentication=authentication, **options) as http:
            asked = await http.options("/", headers=asking(origin))
            answer = await http.get(CARD, headers={"Origin": origin})
            for response in (asked, answer):
                assert "access-control-allow-origin" not in response.headers
            assert not asked.is_success


async def test_any_web_page_may_use_an_agent_with_authentication():
    async with served(cors_origins=["*"], authentication=TOKENS) as http:
        answer = await http.get(CARD, headers={"Origin": "https://any.example"})
        assert answer.headers["access-control-allow-origin"] == "*"
    async with served(cors_origins=["*"]) as http:
        for response in (
            await http.options("/", headers=asking("https://any.example")),
            await http.post("/", json=SEND, headers={"Origin": "https://any.example"}),
        ):
            assert response.status_code == 403


@pytest.mark.parametrize(
    "origin", ["", "chat.example", "https://chat.example/", "https://Chat.example", "null"]
)
def test_invalid_origins(origin):
    with pytest.raises(ConfigurationError, match="not an origin"):
        ServerOptions(cors_origins=[origin])
