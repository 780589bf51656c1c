"""Tokens that are kept, over several threads, event loops and many users."""

from __future__ import annotations

import asyncio

from a2a_adapters_oauth import ClientCredentials
from a2a_adapters_oauth.cache import TokenCache
from a2a_adapters_oauth.endpoints import Token

from a2a_adapters import RemoteAgent
from tests.plugins.oauth.authorization import SECRET


async def test_threads_and_event_loops_share_a_token(login, front):
    auth = ClientCredentials("agent", SECRET, token_url=f"{login.url}/token")

    def in_another_loop():
        async def call():
            async with RemoteAgent(front.url, auth=auth) as agent:
                return await agent.send("hi")

        return asyncio.run(call())

    async with RemoteAgent(front.url, auth=auth) as agent:
        login.may_answer.clear()
        calls = [asyncio.create_task(asyncio.to_thread(agent.send_sync, "hi")) for _ in range(5)]
        await login.asked.wait()
        login.may_answer.set()
        replies = [*await asyncio.gather(*calls), await asyncio.to_thread(in_another_loop)]
        replies.append(await agent.send("hi"))
    assert {reply.text for reply in replies} == {"agent through nobody to agent-b for read write"}
    assert len(login.forms) == len({*front.tokens}) == 1


async def test_the_number_of_tokens_is_bounded():
    cache, fetched = TokenCache(), []

    async def get(user):
        async def fetch():
            fetched.append(user)
            return Token(access_token=f"token-{user}", token_type="Bearer", expires_in=3600)

        assert await cache.get(user, "", fetch) == f"token-{user}"

    for user in range(1_001):
        await get(user)
    await get(1_000)
    assert len(fetched) == 1_001
    await get(0)  # was dropped for the last one
    assert len(fetched) == 1_002


async def test_a_request_ends_with_its_error_if_all_callers_have_left(login, front, caplog):
    auth = ClientCredentials("agent", "wrong", token_url=f"{login.url}/token")
    login.may_answer.clear()
    async with RemoteAgent(front.url, auth=auth) as agent:
        call = asyncio.create_task(agent.send("hi"))
        await login.asked.wait()
        call.cancel()
        await asyncio.wait([call])
        login.may_answer.set()
        other = asyncio.create_task(agent.send("hi"))
        await asyncio.wait([other])
    assert "invalid_client" in str(other.exception())
    assert "never retrieved" not in caplog.text


def test_tokens_are_not_shown():
    token = Token(access_token="t0ken", token_type="Bearer", refresh_token="r3fresh")
    assert "t0ken" not in repr(token)
    assert "r3fresh" not in repr(token)
