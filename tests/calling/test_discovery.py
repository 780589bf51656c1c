"""Agents are found in the AI Catalog of their host."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from a2a_adapters import (
    BearerAuth,
    ForbiddenUrlError,
    NamedTarget,
    OutboundPolicy,
    RemoteAgent,
    RemoteAnswerError,
    RemoteOptions,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.command_line import finished

pytestmark = pytest.mark.timeout(5 * 60)

PATH = "/.well-known/ai-catalog.json"
CARD = "application/a2a-agent-card+json"
CATALOG = "application/ai-catalog+json"


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


def catalog(*entries, **paths):
    """Return a host with a catalog, and further answers by path."""

    def answer(content):
        async def respond(request):
            made = content(str(request.base_url)) if callable(content) else content
            return JSONResponse(made)

        return respond

    listed = {"specVersion": "1.0", "entries": list(entries)}
    routes = [Route(PATH, answer(listed))]
    return Starlette(routes=routes + [Route(f"/{path}", answer(it)) for path, it in paths.items()])


def entry(url, name="x", kind=CARD):
    return {"identifier": url, "displayName": name, "mediaType": kind, "url": url}


async def test_a_server_lists_its_agents():
    agents = {"loud": NamedTarget(shout, "Shouter"), "echo": lambda text: text}
    async with running(build_app(agents)) as url, httpx.AsyncClient() as http:
        response = await http.get(url + PATH)
        loud, echo = response.json()["entries"]
        assert response.headers["content-type"] == CATALOG
        assert loud["identifier"] == f"{url}/agents/loud"
        assert (loud["displayName"], loud["description"]) == ("Shouter", "Say it louder.")
        assert loud["mediaType"] == loud["type"] == CARD
        assert (await http.get(echo["url"])).json()["name"] == "echo"


async def test_listed_agents_can_be_called():
    async with running(build_app({"loud": shout, "echo": lambda text: text})) as url:
        loud, _ = await RemoteAgent.discover(url)
        assert (loud.name, loud.description) == ("loud", "Say it louder.")
        async with loud.agent as agent:
            assert (await agent.send("hi")).text == "HI"


def two_agents():
    lower = NamedTarget(lambda text: text.lower(), "two words")
    return build_app({"shout": shout, "lower": lower})


async def test_an_agent_is_called_by_its_name_at_its_host():
    async with running(two_agents()) as url:
        for name, said in (("shout", "HI"), ("two words", "hi")):
            async with RemoteAgent(f"{url}#{name}") as agent:
                assert (await agent.send("Hi")).text == said


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", r"several agents at \S+; name one of them: \S+#shout, \S+#two words"),
        ("#loud", "lists no agent 'loud'; it lists shout, two words"),
    ],
)
async def test_a_host_with_several_agents_lists_their_names(name, reason):
    async with running(two_agents()) as url, RemoteAgent(f"{url}{name}") as agent:
        with pytest.raises(RemoteAnswerError, match=reason):
            await agent.send("Hi")


@pytest.mark.parametrize(
    "instead",
    [Response(status_code=404), Response(status_code=405), HTMLResponse("<p>a page</p>")],
    ids=["not found", "not allowed", "a page"],
)
async def test_a_host_without_a_catalog_is_its_only_agent(instead):
    served = build_app(shout)

    async def without_catalog(scope, receive, send):
        app = instead if scope.get("path") == PATH else served
        await app(scope, receive, send)

    async with running(without_catalog) as url:
        [only] = await RemoteAgent.discover(url)
        assert (only.name, only.description, only.address) == ("shout", "Say it louder.", url)
        async with only.agent as agent:
            assert (await agent.send("hi")).text == "HI"


async def test_catalogs_may_list_catalogs_and_hold_cards():
    async with running(build_app(shout)) as url:
        card = agent_card_to_dict(await RemoteAgent(url).card())
        inline = {"identifier": "1", "displayName": "within", "type": CARD, "data": card}
        inner = {"specVersion": "1.0", "entries": [inline, entry("/more.json", kind=CATALOG)]}
        more = {"entries": [entry(PATH, kind=CATALOG), entry("card.json", "beside")]}
        host = catalog(
            {"displayName": "all", "mediaType": CATALOG, "data": inner},
            **{"more.json": more},
        )
        async with running(host) as other:
            within, beside = await RemoteAgent.discover(other)
        assert (within.name, within.address.rstrip("/")) == ("within", url)
        assert beside.address == f"{other}/card.json"
        async with within.agent as agent:
            assert (await agent.send("hi")).text == "HI"


async def test_catalog_entries_that_are_not_agents_are_skipped():
    host = catalog(
        "text",
        entry("https://mcp.example/card.json", kind="application/mcp-server-card+json"),
        {"displayName": "nowhere", "mediaType": CARD},
        {"displayName": "five", "mediaType": CARD, "url": 5},
        entry("ftp://files.example/card.json"),
        {"displayName": "no card", "mediaType": CARD, "data": {"name": 1}},
        entry("https://a.example/card.json", "wide\u202e\n" + "n" * 300),
    )
    async with running(host) as url:
        [only] = await RemoteAgent.discover(url)
    assert only.address == "https://a.example/card.json"
    assert only.name.startswith("wide nnn")
    assert len(only.name) == 100


async def test_a_catalog_that_cannot_be_had_hides_no_other_agents(caplog):
    host = catalog(
        entry("nothing.json", kind=CATALOG),
        entry("/odd.json", kind=CATALOG),
        entry("http://169.254.169.254/all.json", kind=CATALOG),
        entry("https://a.example/card.json"),
        **{"odd.json": "text"},
    )
    async with running(host) as url:
        [only] = await RemoteAgent.discover(url)
    assert only.address == "https://a.example/card.json"
    assert ["odd.json" in caplog.messages[0], "169.254" in caplog.messages[1]] == [True, True]


@pytest.mark.parametrize("content", [[], {}, {"entries": {}}, "text"])
async def test_invalid_catalogs_are_reported(content):
    async with running(catalog(**{"odd.json": content})) as url:
        with pytest.raises(RemoteAnswerError, match="an AI Catalog"):
            await RemoteAgent.discover(f"{url}/odd.json")


async def test_the_size_of_a_catalog_is_limited():
    host = catalog(
        *(entry(f"https://a.example/{n}.json") for n in range(700)),
        entry("more.json", kind=CATALOG),
        **{
            ".well-known/more.json": {
                "entries": [entry(f"https://b.example/{n}.json") for n in range(700)]
            }
        },
    )
    async with running(host) as url:
        assert len(await RemoteAgent.discover(url)) == 999


async def test_other_hosts_than_that_of_the_catalog_get_no_credentials():
    seen = []

    def remembering(app):
        async def remember(scope, receive, send):
            if scope["type"] == "http":
                seen.append(dict(scope["headers"]).get(b"authorization"))
            await app(scope, receive, send)

        return remember

    async with (
        running(remembering(build_app(shout))) as other,
        running(catalog(entry(f"{other}/.well-known/agent-card.json"))) as url,
    ):
        [listed] = await RemoteAgent.discover(url, auth=BearerAuth("secret"))
        async with listed.agent as agent:
            assert (await agent.send("hi")).text == "HI"
    assert set(seen) == {None}


async def ourselves(_host, _port):
    return ["127.0.0.1"]


async def test_a_catalog_reaches_no_private_network_by_another_name():
    options = ServerOptions(allowed_hosts=["agents.example"])
    async with running(build_app(shout, options=options)) as other:
        there = other.replace("127.0.0.1", "agents.example")
        async with running(catalog(entry(f"{there}/.well-known/agent-card.json"))) as url:
            refusing = RemoteOptions(outbound=OutboundPolicy(resolver=ourselves))
            [listed] = await RemoteAgent.discover(url, options=refusing)
            with pytest.raises(ForbiddenUrlError, match=r"agents\.example"):
                await listed.agent.card()
            outbound = OutboundPolicy(allow_private=True, resolver=ourselves)
            allowed = RemoteOptions(outbound=outbound)
            [listed] = await RemoteAgent.discover(url, options=allowed)
            assert (await listed.agent.card()).name == "shout"


async def test_the_command_lists_agents():

    async with running(build_app({"loud": shout})) as url:
        done = await asyncio.to_thread(finished, "discover", url.removeprefix("http://"))
        address = f"{url}/agents/loud/.well-known/agent-card.json"
        assert done.stdout == f"loud\t{address}\tSay it louder.\n"
        done = await asyncio.to_thread(finished, "discover", url, "-o", "json")
        about = {"name": "loud", "address": address, "description": "Say it louder."}
        assert json.loads(done.stdout) == [about]
        nothing = await asyncio.to_thread(finished, "discover", f"{url}/nothing", "-o", "json")
        assert json.loads(nothing.stdout)["error"]["code"] == "A2ACLI_ERR_CARD_NOT_FOUND"
        nothing = await asyncio.to_thread(finished, "discover", f"{url}/nothing")
        assert nothing.returncode == 3
        assert "no agent card" in nothing.stderr
    async with running(catalog()) as url:
        empty = await asyncio.to_thread(finished, "discover", url)
    assert empty.returncode == 1
    assert "lists no agents" in empty.stderr
