"""Ownership and limits of sessions of MCP clients."""

from __future__ import annotations

from contextlib import asynccontextmanager

import httpx
import pytest
from a2a_adapters_mcp import McpTools
from mcp import types

from tests.plugins.mcp.support import TOKENS, as_bearer, offered, over_http, text_of

ACCEPT = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def limited(options=TOKENS, **limits):
    """Yield an HTTP client of a server with these limits of sessions."""
    async with (
        offered(McpTools(**limits), options=options) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
    ):
        yield http


async def begin(http, name):
    """Open a session and leave it open; return the answer."""
    params = types.InitializeRequestParams(
        protocolVersion=types.LATEST_PROTOCOL_VERSION,
        capabilities=types.ClientCapabilities(),
        clientInfo=types.Implementation(name="test", version="1"),
    )
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": params.model_dump(mode="json", exclude_none=True),
    }
    return await http.post("/mcp", json=body, headers=ACCEPT | as_bearer(name))


async def ping(http, name, begun):
    """Use a session, or none; return the status of the answer."""
    session = {"mcp-session-id": begun.headers["mcp-session-id"]} if begun else {}
    body = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    headers = ACCEPT | session | as_bearer(name)
    return (await http.post("/mcp", json=body, headers=headers)).status_code


async def test_a_session_belongs_to_its_caller():
    async with limited() as http:
        begun = await begin(http, "ann")
        assert [await ping(http, name, begun) for name in ("ann", "bob")] == [200, 404]
        session = {"mcp-session-id": begun.headers["mcp-session-id"]}
        ended = await http.delete("/mcp", headers=session | as_bearer("bob"))
        assert ended.status_code == 404


async def test_sessions_are_bounded():
    async with offered(McpTools(sessions=1)) as url, over_http(url) as session:
        with pytest.raises(BaseExceptionGroup):
            async with over_http(url):
                pass
        assert text_of(await session.call_tool("shout", {"message": "still"})) == "STILL"


async def test_one_caller_cannot_take_all_sessions():
    async with limited(sessions_per_caller=2, sessions=3) as http:
        theirs = await begin(http, "bob")
        async with over_http(http.base_url, headers=as_bearer("ann")) as used:
            assert text_of(await used.call_tool("shout", {"message": "mine"})) == "MINE"
            for _ in range(5):
                assert (await begin(http, "ann")).status_code == 200
            assert text_of(await used.call_tool("shout", {"message": "still"})) == "STILL"
            assert await ping(http, "bob", theirs) == 200


async def test_sessions_in_use_are_not_closed_for_others():
    async with limited(sessions_per_caller=1) as http:
        begun = await begin(http, "ann")
        assert await ping(http, "ann", begun) == 200
        refused = await begin(http, "ann")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
        assert await ping(http, "ann", begun) == 200


async def test_unused_sessions_lock_out_no_caller():
    async with limited(None, sessions=3) as http:
        first = await begin(http, "")
        for _ in range(10):
            assert (await begin(http, "")).status_code == 200
        assert await ping(http, "", first) == 404
        async with over_http(http.base_url) as session:
            assert text_of(await session.call_tool("shout", {"message": "in"})) == "IN"


async def test_an_idle_session_is_closed():
    async with limited(sessions_per_caller=1, idle_seconds=0.01) as http:
        begun = await begin(http, "ann")
        await until_admitted(http, "ann")
        assert await ping(http, "ann", begun) == 404


async def test_requests_that_open_no_session_are_not_counted():
    async with limited(sessions_per_caller=1) as http:
        assert await ping(http, "ann", None) == 400
        await until_admitted(http, "ann")


async def test_anonymous_callers_are_distinguished_by_address():
    async with (
        offered(McpTools(sessions_per_caller=1)) as url,
        over_http(url) as one,
        over_http(url) as other,
    ):
        assert text_of(await one.call_tool("shout", {"message": "one"})) == "ONE"
        assert text_of(await other.call_tool("shout", {"message": "other"})) == "OTHER"


async def until_admitted(http, name):
    """Open a session once an ended one is no longer counted."""
    while (answer := await begin(http, name)).status_code == 429:
        pass
    assert answer.status_code == 200
