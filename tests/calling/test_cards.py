"""Cards of agents in use: old versions, missing values, and unusual addresses."""

from __future__ import annotations

import asyncio

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
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


@pytest.mark.parametrize(
    "version", ["0.3.0", "v0.3.0", "V0.3", "0.3", None, "", ..., "0.2.6", "v0.2.5", "0.2"]
)
async def test_old_agents_are_called_whatever_form_their_version_has(version):
    server = Old(lambda url: old_card(url, protocolVersion=version))
    assert await answer_at(server) == "pong"


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


async def test_a_card_without_an_address_says_so():
    async with (
        running(Old(lambda url: old_card(url, url=None))) as url,
        RemoteAgent(url, options=ONCE) as agent,
    ):
        with pytest.raises(RemoteAnswerError, match="neither supportedInterfaces nor a url"):
            await agent.send("ping")


async def test_an_agent_of_an_unknown_version_is_not_called():
    async with (
        running(Old(lambda url: old_card(url, protocolVersion="0.1"))) as url,
        RemoteAgent(url, options=ONCE) as agent,
    ):
        with pytest.raises(RemoteAnswerError, match=r"offers JSONRPC 0\.1; .* of A2A 0\.2"):
            await agent.send("ping")


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "[::]"])
async def test_a_wildcard_address_is_the_host_that_was_asked(wildcard):
    def card(url):
        return old_card(url, url=url.replace("127.0.0.1", wildcard) + "/rpc")

    server = Old(card)
    assert await answer_at(server) == "pong"
    async with running(server) as url, RemoteAgent(url) as agent:
        found = await agent.card()
        assert wildcard in found.supported_interfaces[0].url, "the card is not modified"


WELL_KNOWN = "/.well-known/agent-card.json"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/a2a/v1/card", "/a2a/v1/card"),
        ("/api/agentCard/v1.0", "/api/agentCard/v1.0"),
        ("/agents/x", f"/agents/x{WELL_KNOWN}"),
        ("/rpc", WELL_KNOWN),
        ("/rpc/", WELL_KNOWN),
        ("/rpc/more", WELL_KNOWN),
        ("/rpc", "/.well-known/agent.json"),
    ],
)
async def test_the_card_is_found(path, place):
    assert await answer_at(Old(paths=[place]), path) == "pong"


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
    ("field", "value"),
    [
        ("skills", ["research", "write"]),
        ("capabilities", ["streaming"]),
        ("defaultInputModes", "text/plain"),
        ("version", 1),
        ("signatures", "abc"),
        ("security", ["bearer"]),
        ("securitySchemes", ["bearer"]),
    ],
)
async def test_an_invalid_card_names_the_field(field, value):
    async with (
        running(Old(lambda url: old_card(url, **{field: value}))) as url,
        RemoteAgent(url, options=ONCE) as agent,
    ):
        with pytest.raises(RemoteAnswerError, match=f"not an agent card: its field {field} is"):
            await agent.card()


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
