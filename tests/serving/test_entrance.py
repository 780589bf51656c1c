"""The fast path of most requests gives the same answers as the routes."""

from __future__ import annotations

import re

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount

from a2a_adapters import BearerTokens, ConfigurationError, ServerOptions, build_app
from tests.support.requests import V1, rpc, say

TOKEN = {"Authorization": "Bearer secret"}
OWN = re.compile(r"[0-9a-f-]{32,36}|\d{4}-\d\d-\d\dT[\d:.]+")
"""Values that differ in every answer: ids and times."""
REQUESTS = {
    "a message": ("POST", {}, rpc("SendMessage", say("hello"))),
    "a stream": ("POST", {}, rpc("SendStreamingMessage", say("hello"))),
    "an old client": ("POST", {"A2A-Version": "0.3"}, rpc("message/send", say("hello"))),
    "no such method": ("POST", {}, rpc("Sing", {})),
    "no JSON": ("POST", {"Content-Type": "application/json"}, None),
    "a form": ("POST", {"Content-Type": "text/plain"}, None),
    "a page": ("POST", {"Origin": "http://evil.example"}, rpc("SendMessage", say("hello"))),
    "another host": ("POST", {"Host": "evil.example"}, rpc("SendMessage", say("hello"))),
    "a stranger": ("POST", {"Authorization": ""}, rpc("SendMessage", say("hello"))),
    "too many headers": ("POST", {"X": "x" * 70_000}, rpc("SendMessage", say("hello"))),
    "another verb": ("PUT", {}, rpc("SendMessage", say("hello"))),
}


async def echo(text):
    return text


def client(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("tokens", [None, BearerTokens({"secret": "ann"})], ids=["open", "tokens"])
async def test_it_answers_as_the_routes_do(request_, tokens):
    verb, headers, body = request_
    app = build_app(echo, options=ServerOptions(authentication=tokens))
    async with client(app) as straight, client(Starlette(routes=[Mount("/sub", app)])) as routed:
        answers = [
            await http.request(verb, path, headers=V1 | TOKEN | headers, json=body)
            for http, path in ((straight, "/"), (routed, "/sub/"))
        ]
    one, other = map(_shape, answers)
    assert one == other


async def test_allowed_origins_may_read_the_exposed_headers():
    options = ServerOptions(cors_origins=["https://app.example"])
    async with client(build_app(echo, options=options)) as http:
        headers = V1 | {"Origin": "https://app.example"}
        answer = await http.post("/", headers=headers, json=rpc("SendMessage", say("hello")))
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://app.example"


@pytest.mark.parametrize("target", [echo, {"one": echo}], ids=["one", "several"])
async def test_addresses_of_a_mounted_app_are_below_its_path(target):
    inner = build_app(target, options=ServerOptions(allowed_hosts=["a.example"]))
    outer = Starlette(routes=[Mount("/ai", Starlette(routes=[Mount("/sub", inner)]))])
    async with client(outer) as http:
        [listed] = (await http.get("/ai/sub/agents")).json()["agents"]
        card = (await http.get(listed["card"])).json()
        answer = await http.post(card["url"], headers=V1, json=rpc("SendMessage", say("hello")))
    assert card["url"] == listed["url"]
    assert card["url"].startswith("http://127.0.0.1/ai/sub/")
    assert answer.json()["result"]["task"]["artifacts"][0]["parts"] == [{"text": "hello"}]


@pytest.mark.parametrize("path", ["/rpc", "/team/", "/team", "/team/rpc", "/"])
@pytest.mark.parametrize("is_mounted", [False, True], ids=["", "mounted"])
async def test_calls_at_other_paths_have_the_same_answers(path, is_mounted):
    options = ServerOptions(authentication=BearerTokens({"secret": "ann"}), root_path="/team")
    app = build_app(echo, options=options)
    under = "/sub" if is_mounted else ""
    async with client(Starlette(routes=[Mount(under, app)]) if under else app) as http:
        body = rpc("SendMessage", say("hello"))
        answer = await http.post(under + path, headers=V1 | TOKEN, json=body)
        refused = await http.post(under + path, headers=V1, json=body)
        card = (await http.get(f"{under}/team/.well-known/agent-card.json")).json()
    assert answer.json()["result"]["task"]["artifacts"][0]["parts"] == [{"text": "hello"}]
    assert (refused.status_code, refused.json()["jsonrpc"]) == (401, "2.0")
    assert card["url"] == f"http://127.0.0.1{under}/team/"


async def test_several_agents_below_the_path_of_a_proxy():
    app = build_app({"one": echo}, options=ServerOptions(root_path="/team"))
    async with client(app) as http:
        for path in ("/team/agents", "/agents"):
            [listed] = (await http.get(path)).json()["agents"]
            assert listed["url"] == "http://127.0.0.1/team/agents/one/"
        answer = await http.post(
            "/team/agents/one", headers=V1, json=rpc("SendMessage", say("hello"))
        )
        assert answer.json()["result"]["task"]["artifacts"]
        assert (await http.get("/team/healthz")).json() == {"status": "ready"}


@pytest.mark.parametrize("path", ["team", "/team/", "/", "/a b", "/a?b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ConfigurationError, match=r"root_path: .* is not a path such as /team"):
        ServerOptions(root_path=path)
    with pytest.raises(ConfigurationError, match=r"health_paths: .* is not a path such as /ping"):
        ServerOptions(health_paths=[path])


@pytest.mark.parametrize("given", [{"context_header": "a b"}, {"caller_headers": ["x-tenant:"]}])
def test_what_is_no_header_is_refused(given):
    with pytest.raises(ConfigurationError, match="is not the name of a header"):
        ServerOptions(**given)


async def made():
    return echo


@pytest.mark.parametrize(
    ("target", "storage"), [(made, "memory:"), (echo, "sqlite:///tasks.db")], ids=["made", "stored"]
)
async def test_an_app_without_lifespan_logs_and_refuses(target, storage, caplog):
    app = build_app(target, options=ServerOptions(storage=storage))
    async with client(Starlette(routes=[Mount("/sub", app)])) as http:
        answer = await http.post("/sub/", headers=V1, json=rpc("SendMessage", say("hello")))
        health = await http.get("/sub/healthz")
    assert answer.status_code == health.status_code == 503
    assert answer.json()["error"]["message"] == "the agent has not been started"
    assert "lifespan" in caplog.text


async def added(_request):
    return PlainTextResponse("added")


@pytest.mark.parametrize("target", [echo, {"one": echo}, made], ids=["one", "several", "made"])
async def test_routes_added_to_the_app_are_reached_at_every_start(target):
    app = build_app(target)
    app.add_route("/ping", added)
    for _ in range(2):
        async with app.router.lifespan_context(app), client(app) as http:
            assert (await http.get("/ping")).text == "added"
            assert (await http.get("/readyz")).json() == {"status": "ready"}
            assert (await http.get("/pong")).status_code == 404


def _shape(answer):
    """Return the parts of an answer that equal those of another answer to the same request."""
    headers = {name: value for name, value in answer.headers.items() if name != "date"}
    length = headers.pop("content-length", None)
    assert length in {None, str(len(answer.content))}
    return answer.status_code, headers, OWN.sub("", answer.text)
