"""Tasks that wait for a login of their user."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_oauth import LOGGED_IN, login_noticed, login_request

from a2a_adapters import (
    AgentReply,
    AgentRequest,
    AuthRequired,
    Data,
    File,
    RemoteAgent,
    RemoteTimeoutError,
    Text,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.servers.sdk import Scripted, sdk_app
from tests.support.servers.streams import text

LOGIN = "https://login.example/authorize?state=1"
SCHEMES = {"oauth2": {"flows": {"authorizationUrl": LOGIN, "tokenUrl": "https://login.example/t"}}}


async def reads_mail(request: AgentRequest):
    """Read mail."""
    answer = yield AuthRequired("Please log in.", [Data({"schemes": SCHEMES, "scopes": ["mail"]})])
    yield f"After {answer.text!r}"


async def test_a_conversation_goes_on_after_a_login():
    async with running(build_app(reads_mail)) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        reply = await conversation.send("read my mail")
        assert reply.state == "auth-required"
        request = login_request(reply)
        assert (request.prompt, request.urls) == ("Please log in.", [LOGIN])
        assert request.data == [{"schemes": SCHEMES, "scopes": ["mail"]}]
        reply = await conversation.send(LOGGED_IN)
        assert reply.text == f"After {LOGGED_IN!r}"
        assert login_request(reply) is None


async def test_a_task_goes_on_after_a_login():
    async with running(build_app(reads_mail)) as url, RemoteAgent(url) as agent:
        task = await agent.start("read my mail")
        assert login_request(await task.result()).urls == [LOGIN]
        other = agent.task(task.id)  # such as that of the process the user comes back to
        await other.answer(LOGGED_IN)
        assert (await other.result()).text == f"After {LOGGED_IN!r}"


async def test_an_agent_notices_a_login_by_itself():
    has_logged_in = asyncio.Event()

    async def script(context, task):
        await task.requires_auth(task.new_agent_message(text(LOGIN)))
        await has_logged_in.wait()
        await task.start_work()
        await task.add_artifact(text("Welcome"))
        await task.complete()

    async with running(sdk_app(Scripted(script))) as url, RemoteAgent(url) as agent:
        task = await agent.start("in")
        assert login_request(await task.result()).urls == [LOGIN]
        waiting = asyncio.create_task(login_noticed(task))
        has_logged_in.set()
        assert (await waiting).text == "Welcome"
        assert task.state == "completed"


async def test_a_login_that_nobody_makes():
    async with running(build_app(reads_mail)) as url, RemoteAgent(url) as agent:
        task = await agent.start("read my mail")
        with pytest.raises(RemoteTimeoutError, match="no login") as caught:
            await login_noticed(task, 0.01)
    assert caught.value.task_id == task.id


@pytest.mark.parametrize(
    ("part", "urls"),
    [
        (Data({"url": LOGIN, "elicitation_id": "1"}), [LOGIN]),
        (Data([{"auth_uri": LOGIN}, {"verification_uri_complete": LOGIN}]), [LOGIN]),
        (Data({"token_url": LOGIN, "redirect_uri": LOGIN, "issuer": LOGIN, "url": 1}), []),
        (Data({"url": "http://login.example"}), []),
        (Data({"url": "http://127.0.0.1:1/login"}), ["http://127.0.0.1:1/login"]),
        (Data({"url": "javascript:alert(1)"}), []),
        (Data({"url": "https://["}), []),
        (File(url=LOGIN, media_type="text/html"), [LOGIN]),
        (
            Text(f"Open ({LOGIN}), please, or <https://b.example/x>."),
            [LOGIN, "https://b.example/x"],
        ),
        (Text("Log in."), []),
    ],
)
def test_addresses_to_open(part, urls):
    reply = AgentReply(text="", state="auth-required", status_parts=[part])
    assert login_request(reply).urls == urls
