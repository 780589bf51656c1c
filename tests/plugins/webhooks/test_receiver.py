"""The receiver of push notifications."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from a2a_adapters_webhooks import WebhookReceiver

from a2a_adapters import BearerTokens, ConfigurationError, RemoteAgent
from tests.calling.slow_agents import QUESTION, slow_agent
from tests.plugins.webhooks.agents import SENDERS, Observed, receiver, sender

pytestmark = pytest.mark.timeout(60)

TOKEN = "X-A2A-Notification-Token"


def status(state, *, seconds=0, task="t1", text=""):
    """Return a status notification of a task."""
    message = {"messageId": text, "role": "ROLE_AGENT", "parts": [{"text": text}]}
    told = {"state": f"TASK_STATE_{state}", "timestamp": f"2026-01-01T00:00:{seconds:02}Z"}
    return {
        "statusUpdate": {"taskId": task, "contextId": "c1", "status": {**told, "message": message}}
    }


def chunk(text, task="t1"):
    artifact = {"artifactId": "a1", "parts": [{"text": text}]}
    return {
        "artifactUpdate": {"taskId": task, "contextId": "c1", "artifact": artifact, "append": True}
    }


class Post:
    """Posts notifications to a receiver under one token, that of the agent's task "t1"."""

    def __init__(self, hook, http, agent="http://agent.example", task="t1"):
        self.hook, self.http = hook, http
        self.config, self.binding = hook.push_config(), (agent, task)

    async def begun(self):
        """Let the agent have begun its task."""
        await self.hook.bind(self.config, *self.binding)
        return self

    async def __call__(self, body, **headers):
        headers = {TOKEN: self.config.token, **headers}
        return (await self.http.post(self.hook.url, json=body, headers=headers)).status_code


@pytest.mark.parametrize("name", SENDERS)
async def test_a_notification_wakes_the_task_that_waits(name):
    async with (
        sender(name) as (card, gate),
        receiver() as (hook, heard),
        RemoteAgent(card) as agent,
    ):
        task = await agent.start("ping", notify=hook)
        async with asyncio.TaskGroup() as group:
            result = group.create_task(task.result())
            await hook.is_awaited.wait()
            gate.open()
        assert result.result().text == "pong"
        await hook.until_state("completed")
        assert {each.task_id for each in heard} == {task.id}
        assert heard[-1].context_id == task.context_id


@pytest.mark.parametrize("name", SENDERS)
async def test_a_question_wakes_its_task_and_so_does_what_follows_the_answer(name):
    async with sender(name) as (card, _), receiver() as (hook, _), RemoteAgent(card) as agent:
        task = await agent.start("book", notify=hook)
        assert (await task.result()).question == QUESTION
        await task.answer("Rome")
        assert (await task.result()).text == "Booked: Rome"


async def test_blocking_code_in_another_thread_is_woken():
    async with sender("ours") as (card, gate), receiver() as (hook, _):
        agent = RemoteAgent(card)
        task = await asyncio.to_thread(agent.start_sync, "ping", notify=hook)
        waiting = asyncio.create_task(asyncio.to_thread(task.result_sync))
        await gate.reached.wait()
        gate.open()
        assert (await waiting).text == "pong"
        await asyncio.to_thread(agent.close)


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request, tmp_path):
    """Return the URL of a storage that several processes may use."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/notifications.db"
    from tests.support.postgresql import new_database

    return new_database()


async def test_another_process_is_woken_through_the_storage(storage):
    elsewhere = Observed(storage=storage)
    async with (
        sender("ours") as (card, gate),
        receiver(storage=storage) as (hook, _),
        RemoteAgent(card) as agent,
    ):
        started = await agent.start("ping", notify=hook)
        task = agent.task(started.id, notify=elsewhere)
        async with asyncio.TaskGroup() as group:
            result = group.create_task(task.result())
            await elsewhere.is_awaited.wait()
            gate.open()
        assert result.result().text == "pong"
    await elsewhere.aclose()


async def test_agents_without_push_notifications_are_subscribed_to():
    async with slow_agent("a2a-sdk") as (card, gate), receiver() as (hook, heard):
        async with RemoteAgent(card) as agent:
            task = await agent.start("ping", notify=hook)
            gate.open()
            assert (await task.result()).text == "pong"
        assert not heard


async def test_what_is_repeated_old_or_after_the_end_changes_nothing():
    async with receiver() as (hook, heard), httpx.AsyncClient() as http:
        post = await Post(hook, http).begun()
        working, old = status("WORKING", seconds=5, text="b"), status("WORKING", text="a")
        done = status("COMPLETED", seconds=9)
        sent = [working, working, old, chunk("ha"), chunk("ha"), done, done, working, chunk("!")]
        assert {await post(body) for body in sent} == {204}
        assert [(each.kind, each.reply.state) for each in heard] == [
            ("status", "working"),
            ("artifact", "unknown"),
            ("artifact", "unknown"),
            ("status", "completed"),
        ]
        assert (heard[1].reply.text, heard[1].appends) == ("ha", True)


async def test_a_corrected_artifact_replaces_the_one_before():
    async with receiver() as (hook, heard), httpx.AsyncClient() as http:
        post, corrected = await Post(hook, http).begun(), chunk("checked")
        corrected["artifactUpdate"]["append"] = False
        assert {await post(body) for body in (chunk("raw"), corrected)} == {204}
        assert [(each.reply.text, each.appends) for each in heard] == [
            ("raw", True),
            ("checked", False),
        ]


async def test_notifications_of_one_task_are_handled_one_at_a_time():
    running, most, order = 0, 0, []
    async with receiver() as (hook, _), httpx.AsyncClient() as http:

        @hook.handler
        async def slow(notification):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            order.append(notification.reply.text)
            running -= 1

        post = await Post(hook, http).begun()
        await asyncio.gather(*(post(chunk(f"{n}")) for n in range(10)))
    assert most == 1
    assert sorted(order) == [str(n) for n in range(10)]


@pytest.mark.parametrize(
    "binding",
    [
        ("http://agent.example", "t2"),
        ("http://other.example", "t2"),
        ("http://other.example", ""),
    ],
)
async def test_a_token_is_for_one_task_before_that_task_has_notified(binding):
    async with receiver() as (hook, heard), httpx.AsyncClient() as http:
        mine = await Post(hook, http).begun()
        other = await Post(hook, http, *binding).begun()
        assert await other(status("COMPLETED", text="forged")) == 403
        assert not heard
        assert await mine(status("WORKING")) == 204
        assert await other(status("COMPLETED", seconds=1, text="forged")) == 403
        assert len(heard) == 1


async def test_agents_with_equal_task_ids_are_kept_apart():
    async with receiver() as (hook, heard), httpx.AsyncClient() as http:
        agents = ["http://one.example", "http://two.example"]
        posts = [await Post(hook, http, agent).begun() for agent in agents]
        for post in posts:
            assert await post(status("WORKING", seconds=1)) == 204
            assert await post(status("COMPLETED", seconds=2)) == 204
        assert [(each.agent, each.reply.state) for each in heard] == [
            (agent, state) for agent in agents for state in ("working", "completed")
        ]


async def test_a_notification_waits_until_the_task_of_its_token_is_known():
    arrived = asyncio.Event()

    class Gateway(BearerTokens):
        async def authenticate(self, headers):
            arrived.set()
            return await super().authenticate(headers)

    gateway = Gateway({"opensesame": "a"})
    async with receiver(authentication=gateway) as (hook, heard), httpx.AsyncClient() as http:
        post = Post(hook, http)
        early = asyncio.create_task(post(status("WORKING"), Authorization="Bearer opensesame"))
        await arrived.wait()
        assert not heard
        await post.begun()
        assert await early == 204
        assert len(heard) == 1


async def test_a_notification_of_an_unknown_task_may_come_again(monkeypatch):
    monkeypatch.setattr("a2a_adapters_webhooks.receiver._BINDING_SECONDS", 0.01)
    async with receiver() as (hook, heard), httpx.AsyncClient() as http:
        post = Post(hook, http)
        assert await post(status("WORKING")) == 425
        assert not heard
        await post.begun()
        assert await post(status("WORKING")) == 204


@pytest.mark.parametrize("token", ["", "wrong", "wrong.token", "ü.ü"])
async def test_a_wrong_token_is_refused(token):
    async with receiver() as (hook, heard), httpx.AsyncClient() as http:
        post = await Post(hook, http).begun()
        headers = {TOKEN.encode(): token.encode()}
        response = await http.post(hook.url, json=status("WORKING"), headers=headers)
        assert response.status_code == 401
        assert not heard
        assert await post(status("WORKING")) == 204


async def test_credentials_are_asked_for_and_checked():
    async with (
        receiver(credentials="opensesame", authentication=BearerTokens({"opensesame": "a"})) as (
            hook,
            _,
        ),
        sender("ours") as (card, gate),
        RemoteAgent(card) as agent,
        httpx.AsyncClient() as http,
    ):
        assert await Post(hook, http)(status("WORKING")) == 401
        gate.open()
        task = await agent.start("ping", notify=hook)
        assert (await task.result()).text == "pong"
        await hook.until_state("completed")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"task": {}}', b'{"task": 1}', b'{"message": {}}', b"x" * 2000]
)
async def test_other_content_is_refused(body):
    async with receiver(max_bytes=1000) as (hook, heard), httpx.AsyncClient() as http:
        headers = {TOKEN: (await Post(hook, http).begun()).config.token}
        assert (await http.post(hook.url, content=body, headers=headers)).status_code == 400
        assert (await http.get(hook.url)).status_code == 405
        assert not heard


@pytest.mark.parametrize("count", [1, 150_000])
async def test_the_number_of_values_is_limited(count):
    async with receiver() as (hook, heard), httpx.AsyncClient() as http:
        task = {**status("WORKING")["statusUpdate"], "metadata": {"x": [1] * count}}
        expected = 204 if count == 1 else 400
        assert await (await Post(hook, http).begun())({"statusUpdate": task}) == expected
        assert len(heard) == (expected == 204)


async def test_a_notification_whose_handler_failed_may_come_again():
    async with receiver() as (hook, heard), httpx.AsyncClient() as http:
        problems = [ValueError("disk full")]

        @hook.handler
        async def fail(_):
            if problems:
                raise problems.pop()

        post = await Post(hook, http).begun()
        assert [await post(status("WORKING")) for _ in range(3)] == [500, 204, 204]
        assert len(heard) == 2, "the first handler got the repetition, too"


@pytest.mark.parametrize("options", [{"secret": "short"}, {"storage": "sqlite:///x.db"}])
def test_an_unsafe_secret_is_refused(options):
    with pytest.raises(ConfigurationError, match="secret"):
        WebhookReceiver("https://x.example/hook", **options)
