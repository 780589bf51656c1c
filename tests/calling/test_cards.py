"""Cards of agents in use: old versions, missing values, and unusual addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_adapters import (
    RemoteAgent,
    RemoteAgentError,
    RemoteAnswerError,
    RemoteConnectionError,
    RemoteOptions,
)
from a2a_adapters.testing import running
from tests.support.servers.cards import base_url

ONCE = RemoteOptions(retries=0, timeout=60)
BARE = {"name": "Old", "description": "Pong.", "version": "1", "skills": [], "capabilities": {}}
MODES = {"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]}


def old_card(base, **more):
    card = BARE | MODES | {"url": f"{base}/rpc", "protocolVersion": "0.3.0"} | more
    return {key: value for key, value in card.items() if value is not ...}


class Old:
    """An agent of A2A 0.3 or 0.2, whose card is made by `card(url)` and served at `paths`."""

    def __init__(self, card=old_card, paths=("/.well-known/agent-card.json",)):
        self.card = card
        self.params = []
        self.got = []
        routes = [
            Route("/rpc", self._call, methods=["POST"]),
            *(Route(path, self._card) for path in paths),
        ]
        self._app = Starlette(routes=routes)

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            self.got.append((scope["method"], scope["path"]))
        await self._app(scope, receive, send)

    async def _card(self, request: Request):
        return JSONResponse(self.card(base_url(request)))

    async def _call(self, request: Request):
        call = await request.json()
        self.params.append(call["params"])
        if call["method"] != "message/send":
            error = {"code": -32601, "message": "Method not found"}
            return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "error": error})
        parts = [{"kind": "text", "text": "pong"}]
        result = {"kind": "message", "messageId": "m", "role": "agent", "parts": parts}
        return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "result": result})


async def answer_at(server, path="", **options):
    options = RemoteOptions(retries=0, timeout=60, **options)
    async with running(server) as url, RemoteAgent(url + path, options=options) as agent:
        return (await agent.send("ping")).text


WELL_KNOWN = "/.well-known/agent-card.json"
OLD_PLACE = "/.well-known/agent.json"
VERTEX = "/v1beta1/projects/p/locations/l/reasoningEngines/1/a2a"
FOUNDRY = "/api/projects/p/agents/x/endpoint/protocols/a2a"
AGENTCORE = "/runtimes/arn%3Aaws%3Abedrock-agentcore%3Aeu-west-1%3A1%3Aruntime%2Fx/invocations"
SERVICENOW = "/api/sn_aia/a2a"

RPC_OF_0_3, RPC_OF_1_0 = "message/send", "SendMessage"
REST_OF_0_3, REST_OF_1_0 = "/v1/message:send", "/message:send"


def current(*interfaces, **more):
    """Return a function that makes a card of A2A 1.0; interfaces are binding, path and version."""

    def card(base):
        listed = [
            {"protocolBinding": binding, "url": base + path, "protocolVersion": version}
            for binding, path, version in interfaces
        ]
        return BARE | MODES | {"supportedInterfaces": listed} | more

    return card


def old(path="/rpc", **more):
    """Return a function that makes a card of A2A 0.3 or 0.2; `...` removes a field."""
    return lambda base: old_card(base, url=base + path, **more)


def without(*names):
    return lambda base: {key: v for key, v in old_card(base).items() if key not in names}


def rest(path):
    return {"url": path, "transport": "HTTP+JSON"}


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form of card, and what has to happen to it.

    Attributes:
        card: Makes the card for the address of the server, or is its body.
        typed: The path of the URL that the user types.
        place: The path at which the card is.
        called: The path and the method that are called.
        error: The type and a pattern of the error instead.
    """

    card: Callable[[str], object] | bytes
    typed: str = ""
    place: str = WELL_KNOWN
    called: tuple[str, str] = ("/rpc", RPC_OF_0_3)
    error: tuple[type[Exception], str] | None = None


def invalid(field, value):
    fault = f"not an agent card: its field {field} is"
    return Form(card=old(**{field: value}), error=(RemoteAnswerError, fault))


def unreadable(body, fault):
    return Form(card=body, error=(RemoteAnswerError, fault))


FORMS = {
    # At the addresses of hosts.
    "Vertex, 1.0": Form(
        card=current(("HTTP+JSON", VERTEX, "1.0")),
        typed=f"{VERTEX}/v1/card",
        place=f"{VERTEX}/v1/card",
        called=(VERTEX, REST_OF_1_0),
    ),
    "Vertex, 0.3": Form(
        card=old(VERTEX, preferredTransport="HTTP+JSON"),
        typed=f"{VERTEX}/v1/card",
        place=f"{VERTEX}/v1/card",
        called=(VERTEX, REST_OF_0_3),
    ),
    "Foundry, 1.0": Form(
        card=current(("JSONRPC", FOUNDRY, "1.0")),
        typed=f"{FOUNDRY}/agentCard/v1.0",
        place=f"{FOUNDRY}/agentCard/v1.0",
        called=(FOUNDRY, RPC_OF_1_0),
    ),
    "Foundry, 0.3": Form(
        card=old(FOUNDRY),
        typed=f"{FOUNDRY}/agentCard/v0.3",
        place=f"{FOUNDRY}/agentCard/v0.3",
        called=(FOUNDRY, RPC_OF_0_3),
    ),
    "AgentCore": Form(
        card=old(f"{AGENTCORE}/", preferredTransport="JSONRPC", capabilities={"streaming": True}),
        typed=AGENTCORE,
        place=AGENTCORE + WELL_KNOWN,
        called=(f"{AGENTCORE}/", RPC_OF_0_3),
    ),
    "langgraph-api, its endpoint": Form(
        card=current(("JSONRPC", "/a2a/assistant", "1.0")),
        typed="/a2a/assistant",
        called=("/a2a/assistant", RPC_OF_1_0),
    ),
    "langgraph-api, its card": Form(
        card=current(("JSONRPC", "/a2a/assistant", "1.0")),
        typed=f"{WELL_KNOWN}?assistant_id=assistant",
        called=("/a2a/assistant", RPC_OF_1_0),
    ),
    "Copilot Studio": Form(
        card=old("/copilotstudio/agents/x"),
        typed="/copilotstudio/agents/x",
        place=f"/copilotstudio/agents/x{OLD_PLACE}",
        called=("/copilotstudio/agents/x", RPC_OF_0_3),
    ),
    "ServiceNow": Form(
        card=old(f"{SERVICENOW}/v1/agent/id/1", protocolVersion="0.2.5", provider=None),
        typed=f"{SERVICENOW}/id/1/well_known/agent_json",
        place=f"{SERVICENOW}/id/1/well_known/agent_json",
        called=(f"{SERVICENOW}/v1/agent/id/1", RPC_OF_0_3),
    ),
    "google-adk, 1.x": Form(
        card=old("/a2a/x", preferredTransport="JSONRPC", supportsAuthenticatedExtendedCard=False),
        typed="/a2a/x",
        place=f"/a2a/x{WELL_KNOWN}",
        called=("/a2a/x", RPC_OF_0_3),
    ),
    "google-adk, 2.x": Form(
        card=current(("JSONRPC", "/a2a/x", "1.0")),
        typed=f"/a2a/x{WELL_KNOWN}",
        place=f"/a2a/x{WELL_KNOWN}",
        called=("/a2a/x", RPC_OF_1_0),
    ),
    "Strands": Form(
        card=old("/", capabilities={"streaming": True}, skills=[]), called=("/", RPC_OF_0_3)
    ),
    "LiteLLM, both halves rewritten": Form(
        card=lambda base: current(("JSONRPC", "/a2a/x", "1.0"))(base) | {"url": f"{base}/a2a/x"},
        typed="/a2a/x",
        place=f"/a2a/x{WELL_KNOWN}",
        called=("/a2a/x", RPC_OF_1_0),
    ),
    "a gateway that rewrites the old half only": Form(
        card=lambda base: old_card(base, protocolVersion="0.3.0", preferredTransport="JSONRPC"),
        typed="/rpc/more",
    ),
    "kagent": Form(
        card=old("/api/a2a/kagent/x/", protocolVersion="0.2.9"),
        typed="/api/a2a/kagent/x",
        place=f"/api/a2a/kagent/x{OLD_PLACE}",
        called=("/api/a2a/kagent/x/", RPC_OF_0_3),
    ),
    "an endpoint whose card is at the origin": Form(card=old(), typed="/rpc"),
    "an endpoint with a slash": Form(card=old(), typed="/rpc/"),
    "an endpoint whose card is at the origin's old place": Form(
        card=old(), typed="/rpc", place=OLD_PLACE
    ),
    # Versions.
    **{
        f"version {version!r}": Form(card=old(protocolVersion=version))
        for version in (
            *("0.3.0", "v0.3.0", "V0.3", "0.3", None, "", ..., "0.2.6", "v0.2.5", "0.2"),
        )
    },
    "a2a-sdk 0.2.5": Form(card=without("protocolVersion", "capabilities"), place=OLD_PLACE),
    "version 0.1": Form(
        card=old(protocolVersion="0.1"),
        error=(RemoteAnswerError, r"offers JSONRPC 0\.1; .* of A2A 0\.2"),
    ),
    # Interfaces.
    "1.0 over JSON-RPC": Form(
        card=current(("JSONRPC", "/rpc", "1.0")), called=("/rpc", RPC_OF_1_0)
    ),
    "1.0 over HTTP+JSON": Form(
        card=current(("HTTP+JSON", "/rest", "1.0")), called=("/rest", REST_OF_1_0)
    ),
    "the agent's order": Form(
        card=current(("HTTP+JSON", "/rest", "1.0"), ("JSONRPC", "/rpc", "1.0")),
        called=("/rest", REST_OF_1_0),
    ),
    "an unknown binding first": Form(
        card=current(("SLIMRPC", "/slim", "1.0"), ("JSONRPC", "/rpc", "1.0")),
        called=("/rpc", RPC_OF_1_0),
    ),
    "gRPC first": Form(
        card=current(("GRPC", "/grpc", "1.0"), ("JSONRPC", "/rpc", "1.0")),
        called=("/rpc", RPC_OF_1_0),
    ),
    "1.0 beside 0.3": Form(
        card=current(("JSONRPC", "/old", "0.3"), ("JSONRPC", "/rpc", "1.0")),
        called=("/rpc", RPC_OF_1_0),
    ),
    "0.3 in an interface of 1.0": Form(card=current(("JSONRPC", "/rpc", "0.3"))),
    "additional interfaces": Form(
        card=lambda base: old_card(
            base, url=f"{base}/grpc", preferredTransport="GRPC", additionalInterfaces=[rest(base)]
        ),
        called=("", REST_OF_0_3),
    ),
    **{
        f"the transport {name!r}": Form(card=old(preferredTransport=name))
        for name in ("jsonrpc", "JsonRpc", "", None)
    },
    **{
        f"the binding {name!r}": Form(
            card=current((name, "/rpc", "1.0")), called=("/rpc", RPC_OF_1_0)
        )
        for name in ("jsonrpc", "", None)
    },
    "the binding as in 0.3": Form(
        card=lambda base: (
            BARE
            | MODES
            | {"supportedInterfaces": [{"url": f"{base}/rest", "transport": "http+json"}]}
        ),
        called=("/rest", REST_OF_1_0),
    ),
    "flat, 1.0": Form(card=old(protocolVersion="1.0"), called=("/rpc", RPC_OF_1_0)),
    "unknown bindings only": Form(
        card=current(("SLIMRPC", "/slim", "1.0")),
        error=(RemoteAnswerError, "offers SLIMRPC 1.0; this client speaks JSONRPC"),
    ),
    "gRPC only, not reachable": Form(
        card=lambda _: (
            BARE
            | MODES
            | {"url": "127.0.0.1:9", "preferredTransport": "GRPC", "protocolVersion": "0.3.0"}
        ),
        error=(RemoteConnectionError, "cannot be reached over gRPC"),
    ),
    # Addresses.
    "a wildcard": Form(card=lambda base: old_card(base.replace("127.0.0.1", "0.0.0.0"))),
    "a wildcard of IPv6": Form(card=lambda base: old_card(base.replace("127.0.0.1", "[::]"))),
    "another private host": Form(
        card=lambda _: old_card("http://10.1.2.3"),
        error=(RemoteConnectionError, "forbidden address: 10.1.2.3"),
    ),
    "a path": Form(card=lambda base: old_card(base, url="/rpc")),
    "a path in 1.0": Form(
        card=lambda _: current(("JSONRPC", "/rpc", "1.0"))(""), called=("/rpc", RPC_OF_1_0)
    ),
    "no scheme": Form(card=lambda base: old_card(base.removeprefix("http://"))),
    "another private host without a scheme": Form(
        card=lambda _: old_card("10.1.2.3"),
        error=(RemoteConnectionError, r"forbidden address: 10\.1\.2\.3"),
    ),
    "no address": Form(
        card=lambda base: old_card(base, url=None),
        error=(RemoteAnswerError, "neither supportedInterfaces nor a url"),
    ),
    "no interface": Form(
        card=current(), error=(RemoteAnswerError, "neither supportedInterfaces nor a url")
    ),
    # Values that are missing, null or unknown.
    **{
        f"without {name}": Form(card=without(name))
        for name in ("description", "version", "skills", "capabilities", "defaultInputModes")
    },
    **{
        f"{name} null": Form(card=old(**{name: None}))
        for name in ("description", "skills", "capabilities", "provider", "securitySchemes")
    },
    "1.0 with nulls": Form(
        card=current(("JSONRPC", "/rpc", "1.0"), skills=None, capabilities=None, url=None),
        called=("/rpc", RPC_OF_1_0),
    ),
    "a skill with nulls": Form(
        card=old(skills=[{"id": "a", "name": "a", "tags": None, "examples": None}])
    ),
    "capabilities with nulls": Form(card=old(capabilities={"streaming": None, "extensions": None})),
    "a scheme that is null": Form(card=old(securitySchemes={"a": None})),
    "schemes of unknown types": Form(
        card=old(securitySchemes={"a": {"type": "custom"}, "b": {"type": "oauth2"}})
    ),
    "a number as version": Form(card=old(protocolVersion=0.3)),
    "without a name": Form(card=old(name=...)),
    "fields of no version": Form(card=old(schemaVersion="0.3", x_agent={"a": [1]}, tags=["x"])),
    "schemes of both versions": Form(
        card=old(
            securitySchemes={
                "key": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Key",
                    "apiKeySecurityScheme": {"location": "header", "name": "X-Key"},
                }
            }
        )
    ),
    # Not a card.
    **{
        f"{field} {value!r}": invalid(field, value)
        for field, value in (
            ("skills", ["research", "write"]),
            ("capabilities", ["streaming"]),
            ("defaultInputModes", "text/plain"),
            ("version", 1),
            ("signatures", "abc"),
            ("security", ["bearer"]),
            ("securitySchemes", ["bearer"]),
        )
    },
    "a page": unreadable(b"<!doctype html><title>Sign in</title>", "answers no JSON"),
    "nothing": unreadable(b"", "answers no JSON"),
    "a list": unreadable(b"[]", "is not an agent card"),
    "an empty object": unreadable(b"{}", "names no interface"),
    "an error": unreadable(b'{"error": "no agent"}', "names no interface"),
    "Latin-1": unreadable(b'{"name": "caf\xe9"}', "answers no JSON"),
    "a huge card": unreadable(b" " * (1024 * 1024 + 1), "over 1,048,576 bytes"),
}


class Any:
    """Serves a form of card, and answers calls of each version over each binding."""

    def __init__(self, form):
        self.form = form
        self.called = []

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        answer = self._card(request) if scope["method"] == "GET" else await self._call(request)
        await answer(scope, receive, send)

    def _card(self, request):
        place = unquote(self.form.place)
        if request.url.path != place and unquote(request.url.path) != place:
            return JSONResponse({}, 404)
        card = self.form.card
        return Response(card) if isinstance(card, bytes) else JSONResponse(card(base_url(request)))

    async def _call(self, request):
        path = request.scope["raw_path"].decode()
        body = await request.json()
        method = body.get("method", "")
        for each in () if method else (REST_OF_0_3, REST_OF_1_0):
            if path.endswith(each) and not method:
                path, method = path.removesuffix(each), each
        self.called.append((path, method))
        parts = [{"kind": "text", "text": "pong"}]
        reply = {"kind": "message", "messageId": "m", "role": "agent", "parts": parts}
        message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "pong"}]}
        wire = {"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": "pong"}]}
        answers = {
            RPC_OF_0_3: {"jsonrpc": "2.0", "id": body.get("id"), "result": reply},
            RPC_OF_1_0: {"jsonrpc": "2.0", "id": body.get("id"), "result": {"message": message}},
            REST_OF_0_3: {"message": wire},
            REST_OF_1_0: {"message": message},
        }
        if method in answers:
            return JSONResponse(answers[method])
        error = {"code": -32601, "message": "Method not found"}
        return JSONResponse({"jsonrpc": "2.0", "id": body.get("id"), "error": error})


@pytest.mark.parametrize("name", FORMS)
async def test_cards_of_agents_in_use(name):
    form = FORMS[name]
    server = Any(form)
    async with running(server) as url, RemoteAgent(url + form.typed, options=ONCE) as agent:
        if form.error is not None:
            kind, pattern = form.error
            with pytest.raises(kind, match=pattern):
                await agent.send("ping")
            return
        assert (await agent.send("ping")).text == "pong"
        about = await agent.describe()
    assert server.called[-1] == form.called
    assert about.name in {"Old", ""}


@pytest.mark.parametrize(
    ("version", "modes", "sent"),
    [
        ("0.2.9", (), ["text/plain"]),
        (..., (), ["text/plain"]),
        ("0.2.9", ("image/png",), ["image/png"]),
        ("0.3.0", (), []),
    ],
)
async def test_agents_before_0_3_are_told_the_output_modes_of_their_card(version, modes, sent):
    server = Old(lambda url: old_card(url, protocolVersion=version))
    await answer_at(server, accepted_output_modes=modes)
    [params] = server.params
    assert (params["configuration"].get("acceptedOutputModes") or []) == sent


async def test_a_version_in_an_interface_may_be_null_or_have_a_v():
    interface = {"protocolBinding": "JSONRPC"}
    for version in ("v1.0", "1.0.0", None, ""):

        def card(url, version=version):
            known = {**interface, "url": url, "protocolVersion": version}
            return BARE | MODES | {"supportedInterfaces": [known]}

        async with running(Old(card)) as url, RemoteAgent(url) as agent:
            found = (await agent.card()).supported_interfaces[0].protocol_version
        assert found == (version or "").removeprefix("v")


async def test_the_card_of_an_origin_is_not_that_of_another_path():
    server = Old()
    async with running(server) as url, RemoteAgent(f"{url}/other", options=ONCE) as agent:
        with pytest.raises(RemoteAnswerError, match="no agent card at") as caught:
            await agent.send("ping")
    assert "Agno" not in str(caught.value)


@pytest.mark.parametrize("status", [400, 403, 405, 500])
async def test_an_address_that_answers_an_error_is_not_the_last(status):
    class Strict(Old):
        async def __call__(self, scope, receive, send):
            if scope["type"] == "http" and "well-known" in scope["path"]:
                await JSONResponse({"error": "no"}, status)(scope, receive, send)
            else:
                await super().__call__(scope, receive, send)

    assert await answer_at(Strict(paths=["/v1/card"]), "/v1/card") == "pong"
    async with running(Strict()) as url, RemoteAgent(f"{url}/v1/card", options=ONCE) as agent:
        with pytest.raises(RemoteAgentError, match=f"HTTP {status}"):
            await agent.send("ping")


@pytest.mark.parametrize(
    ("status", "body", "shown"),
    [
        (402, {"error": "Payment required: 0.01 USDC"}, "HTTP 402: Payment required: 0.01 USDC"),
        (403, {"detail": "Blocked by policy 7"}, "policy 7"),
        (500, "disk on fire", "HTTP 500: disk on fire"),
        (200, {"error": {"code": -32603, "message": ""}}, "refused: error -32603"),
        (
            200,
            {
                "error": {
                    "code": -32602,
                    "message": "Invalid params",
                    "data": [
                        {
                            "@type": "type.googleapis.com/google.rpc.BadRequest",
                            "fieldViolations": [{"field": "message.parts", "description": "many"}],
                        }
                    ],
                }
            },
            "refused: Invalid params; message.parts: many",
        ),
    ],
)
async def test_the_reason_of_a_refusal_is_shown(status, body, shown):
    class Refusing(Old):
        async def _call(self, request):
            return JSONResponse(body, status)

    async with running(Refusing()) as url, RemoteAgent(url, options=ONCE) as agent:
        with pytest.raises(RemoteAgentError) as caught:
            await agent.send("ping")
    assert shown in str(caught.value)


async def test_a_port_of_grpc_alone_is_recognised():
    async def speak(reader, writer):
        writer.write(b"\x00\x00\x18\x04\x00\x00\x00\x00\x00")  # a frame of HTTP/2
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, RemoteAgent(f"http://127.0.0.1:{port}", options=ONCE) as agent:
        with pytest.raises(RemoteConnectionError, match="for an agent over gRPC"):
            await agent.send("ping")
