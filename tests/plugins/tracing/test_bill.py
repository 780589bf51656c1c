"""What agents and the agents they call have used, in the metadata of their tasks."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest
from a2a.extensions.common import HTTP_EXTENSION_HEADER
from a2a.types import APIKeySecurityScheme, SecurityScheme
from a2a_adapters_tracing import BILL

from a2a_adapters import (
    AgentRequest,
    Authenticator,
    Caller,
    InputRequired,
    Progress,
    Rejected,
    RemoteAgent,
    RemoteTaskError,
    Reply,
    ServerOptions,
    TaskMetadata,
    Text,
    TextDelta,
    TokenUsage,
    build_app,
)
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters.testing import running
from tests.support.requests import V1, rpc, say

SCHEME = SecurityScheme(
    api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Badge")
)
SHOWN = ServerOptions(operators=["*"])


def spent(given, made, usd=None, model=""):
    money = {} if usd is None else {"cost_envelope": {"actual": usd, "currency": "USD"}}
    name = {"model": model} if model else {}
    return TaskMetadata(TokenUsage(given, made, given + made).as_metadata() | money | name)


def inner_agent(given=10, made=1, usd=0.5, model="small"):
    async def inner(request: AgentRequest):
        """Uses a model."""
        yield spent(given, made, usd, model)
        if request.text == "reject":
            yield Rejected("no")
        if request.text == "ask":
            yield InputRequired("Which city?", durable=True)
        yield "done"

    return inner


def outer_agent(remote, own=None):
    async def outer(request: AgentRequest):
        """Asks another agent."""
        if own:
            yield own
        yield (await remote.send(request.text)).text

    return outer


@asynccontextmanager
async def chain(*makers, options=SHOWN):
    """Serve agents, each of which gets a client of the one before; yield a client of the last."""
    async with AsyncExitStack() as stack:
        remote = None
        for make in makers:
            app = build_app(make(remote) if remote else make(), options=options)
            url = await stack.enter_async_context(running(app))
            remote = await stack.enter_async_context(RemoteAgent(url))
        yield remote


async def test_an_agent_reports_its_own_and_its_delegates_tokens_and_money():
    def outer(remote):
        return outer_agent(remote, spent(100, 20, 2.0, "large"))

    async with chain(inner_agent, outer) as remote:
        reply = await remote.send("hello")
    assert reply.usage == TokenUsage(110, 21, 131)
    assert reply.metadata["cost_envelope"] == {"actual": 2.5, "currency": "USD"}
    bill = reply.metadata[BILL]
    small = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11, "usd": 0.5}
    large = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "usd": 2}
    assert bill["models"] == {"large": large, "small": small}
    assert bill["own"] == {**large, "models": {"large": large}}
    (delegate,) = bill["delegates"]
    assert delegate.pop("task_id")
    assert delegate == {
        "agent": "inner",
        "state": "completed",
        "spent": small,
        "models": {"small": small},
    }


class Badges(Authenticator):
    """Identifies callers by a header with their name and roles."""

    def security_schemes(self):
        return {"badge": SCHEME}

    async def authenticate(self, headers):
        return (await self.identify(headers)).owner

    async def identify(self, headers):
        owner, *roles = headers.get("x-badge", "nobody").split()
        return Caller(owner=owner, claims={"roles": roles}, scopes=frozenset(roles))


@pytest.mark.parametrize(
    ("operators", "badge", "is_shown"),
    [
        ([], "ann admin", False),
        (["ann"], "ann", True),
        (["ann"], "bob", False),
        (["role:admin"], "bob admin", True),
        (["scope:admin"], "bob admin", True),
        (["role:admin"], "role:admin", False),
        (["role:admin"], "admin", False),
        (["*"], "bob", True),
        (["ann"], "*", False),
    ],
)
async def test_only_operators_see_the_agents_and_tasks_behind_a_bill(operators, badge, is_shown):
    options = ServerOptions(operators=operators, authentication=Badges())
    async with chain(inner_agent) as inner:
        app = build_app(outer_agent(inner, spent(100, 20, 2.0, "large")), options=options)
        async with running(app) as url, RemoteAgent(url) as remote:
            events = [each async for each in remote.stream("hello", headers={"X-Badge": badge})]
            task = remote.task(events[-1].task_id, headers={"X-Badge": badge})
            read = await task.status()
        (known,) = [each async for each in inner.tasks()]
    for reply in (events[-1], read):
        assert reply.usage == TokenUsage(110, 21, 131)
        assert set(reply.metadata[BILL]["models"]) == {"large", "small"}
        assert ("delegates" in reply.metadata[BILL]) is is_shown
        told = str(reply.metadata)
        assert (known.id in told) is is_shown
        assert ("inner" in told) is is_shown


async def test_without_operators_nobody_sees_them():
    hidden = ServerOptions()
    async with chain(inner_agent, outer_agent, options=hidden) as remote:
        assert "inner" not in str((await remote.send("hello")).metadata)


async def test_agents_in_a_bill_that_an_adapter_reports_are_hidden_too():
    async def boaster(request: AgentRequest):
        """Reports the bill of another agent as its own."""
        delegate = {"agent": "hidden", "task_id": "t1", "state": "completed"}
        yield TaskMetadata({BILL: {"models": {}, "delegates": [delegate]}})
        yield "done"

    async with chain(lambda: boaster, options=ServerOptions()) as remote:
        assert (await remote.send("hello")).metadata[BILL] == {"models": {}}


@pytest.mark.parametrize("end", ["answer", "question", "message", "failure"])
async def test_no_event_shows_the_agents_in_a_bill_that_an_adapter_reports(end):
    delegate = {"agent": "hidden", "task_id": "hidden-1", "state": "completed"}
    used = {"total_tokens": 3, "agent": "hidden", "delegates": [delegate]}
    bill = {"own": {**used, "models": {"m": used}}, "models": {"m": used}, "delegates": [delegate]}

    async def boaster(request: AgentRequest):
        """Reports the bill of another agent as its own."""
        if end == "message":
            yield Reply([Text("done")], metadata={BILL: bill})
            return
        yield TaskMetadata({BILL: bill})
        yield Progress("working")
        yield TextDelta("first")
        if end == "failure":
            raise ValueError("no")
        if end == "question":
            yield InputRequired("Which?", metadata={BILL: bill}, durable=True)

    app = build_app(boaster)
    headers = {**V1, HTTP_EXTENSION_HEADER: PROGRESS_EXTENSION}
    async with running(app) as url, httpx.AsyncClient(base_url=url, headers=headers) as http:
        call = rpc("SendStreamingMessage", say("hello"))
        async with http.stream("POST", "/", json=call, timeout=60) as stream:
            seen = [line async for line in stream.aiter_lines() if line.startswith("data:")]
        listed = await http.post("/", json=rpc("ListTasks", {"includeArtifacts": True}))
    assert BILL in str(seen)
    assert "hidden" not in str(seen) + listed.text


async def test_three_agents_are_nested():
    def unnamed(remote):
        return outer_agent(remote, spent(5, 5))

    async with chain(inner_agent, unnamed, outer_agent) as remote:
        reply = await remote.send("hello")
    assert reply.usage == TokenUsage(15, 6, 21)
    bill = reply.metadata[BILL]
    assert {name: each["total_tokens"] for name, each in bill["models"].items()} == {
        "small": 11,
        "unknown": 10,
    }
    (middle,) = bill["delegates"]
    assert (middle["agent"], middle["spent"]["total_tokens"]) == ("outer", 21)
    (last,) = middle["delegates"]
    assert (last["agent"], last["spent"]["total_tokens"]) == ("inner", 11)


async def test_concurrent_runs_have_bills_of_their_own():
    both = asyncio.Event()
    waiting = 0

    def outer(remote):
        async def outer(text: str) -> str:
            """Call as often as the text says."""
            nonlocal waiting
            waiting += 1
            if waiting == 2:
                both.set()
            await both.wait()
            for _ in range(int(text)):
                await remote.send("hello")
            return text

        return outer

    async with chain(inner_agent, outer) as remote:
        one, three = await asyncio.gather(remote.send("1"), remote.send("3"))
    assert one.usage == TokenUsage(10, 1, 11)
    assert three.usage == TokenUsage(30, 3, 33)
    ids = [each["task_id"] for reply in (one, three) for each in reply.metadata[BILL]["delegates"]]
    assert len(set(ids)) == 4


async def test_calls_in_threads_and_their_tasks_are_counted():
    def outer(remote):
        def outer(text: str) -> str:
            """Call from a thread."""
            return remote.send_sync(text).text

        async def nested(text: str) -> str:
            """Call from tasks and threads."""
            await asyncio.gather(remote.send(text), asyncio.to_thread(remote.send_sync, text))
            return await asyncio.to_thread(outer, text)

        return nested

    async with chain(inner_agent, outer) as remote:
        assert (await remote.send("hello")).usage == TokenUsage(30, 3, 33)


async def test_the_tokens_of_tasks_that_fail_count_too():
    def outer(remote):
        async def outer(text: str) -> str:
            """Try, then fail."""
            with pytest.raises(RemoteTaskError):
                await remote.send("reject")
            raise ValueError("no")

        return outer

    async with chain(inner_agent, outer) as remote:
        with pytest.raises(RemoteTaskError) as raised:
            await remote.send("hello")
    assert raised.value.reply.usage == TokenUsage(10, 1, 11)
    (delegate,) = raised.value.reply.metadata[BILL]["delegates"]
    assert delegate["state"] == "rejected"


async def test_a_task_that_is_started_and_waited_for_counts_once():
    def outer(remote):
        async def outer(text: str) -> str:
            """Start a task, look at it, and wait for it."""
            task = await remote.start(text)
            await task.result()
            await task.status()
            return (await task.result()).text

        return outer

    async with chain(inner_agent, outer) as remote:
        reply = await remote.send("hello")
    assert reply.usage == TokenUsage(10, 1, 11)
    assert len(reply.metadata[BILL]["delegates"]) == 1


@pytest.mark.parametrize("options", [SHOWN, ServerOptions()], ids=["shown", "hidden"])
@pytest.mark.parametrize("waits", [True, False], ids=["waiting", "durable"])
async def test_a_task_with_questions_keeps_its_bill(waits, options):
    def outer(remote):
        async def outer(request: AgentRequest):
            """Calls before and after its question."""
            if not request.resuming:
                yield spent(100, 0)
                await remote.send("one")
                answer = yield InputRequired("Which city?", durable=not waits)
                if not answer:
                    return
            await remote.send("two")
            yield "done"

        return outer

    async with chain(inner_agent, outer, options=options) as remote:
        asked = await remote.send("hello")
        assert asked.usage == TokenUsage(110, 1, 111)
        answered = await remote.send("x", task_id=asked.task_id, context_id=asked.context_id)
    assert answered.usage == TokenUsage(120, 2, 122)
    assert len(answered.metadata[BILL].get("delegates", ())) == (2 if options is SHOWN else 0)


async def test_a_bill_without_agents_adds_up_after_a_restart(tmp_path):
    async with chain(inner_agent) as inner:

        async def outer(request: AgentRequest):
            """Calls before and after its question."""
            if not request.resuming:
                yield spent(100, 0)
                await inner.send("one")
                yield InputRequired("Which city?", durable=True)
                return
            await inner.send("two")
            yield "done"

        options = ServerOptions(storage=f"sqlite:///{tmp_path}/agents.db")
        async with running(build_app(outer, options=options)) as url, RemoteAgent(url) as remote:
            asked = await remote.send("hello")
        installed_plugins().telemetry._bills.clear()  # private: stands for another process
        async with running(build_app(outer, options=options)) as url, RemoteAgent(url) as remote:
            answered = await remote.send("x", task_id=asked.task_id, context_id=asked.context_id)
    assert asked.usage == TokenUsage(110, 1, 111)
    assert answered.usage == TokenUsage(120, 2, 122)


async def test_a_cancelled_task_has_its_bill():
    called = asyncio.Event()

    def outer(remote):
        async def outer(text: str) -> str:
            """Call, then wait for ever."""
            await remote.send(text)
            called.set()
            await asyncio.Event().wait()
            return ""

        return outer

    async with chain(inner_agent, outer) as remote:
        task = await remote.start("hello")
        await called.wait()
        reply = await task.cancel()
    assert (reply.state, reply.usage) == ("canceled", TokenUsage(10, 1, 11))


HUGE = {"agent": "x" * 10_000, "delegates": []}


@pytest.mark.parametrize(
    "lie",
    [
        {"usage": {"input_tokens": -5, "output_tokens": 10**30}},
        {"usage": {"input_tokens": True, "output_tokens": "1"}, "model": "m" * 10_000},
        {"cost_envelope": {"actual": -3.0}},
        {"cost_envelope": {"actual": 3.0, "currency": "EUR"}},
        {"cost_envelope": "much", "context_window": [], BILL: "paid"},
        {BILL: {"models": ["a"], "own": 3, "delegates": {"a": 1}}},
        {BILL: {"models": {"m": {"usd": "1"}}, "delegates": [1, None, HUGE]}},
        {BILL: {"delegates": [HUGE] * 300}},
    ],
)
async def test_a_lying_delegate_cannot_spoil_a_bill(lie):
    def liar():
        async def inner(request: AgentRequest):
            """Reports nonsense."""
            yield TaskMetadata(lie)
            yield "done"

        return inner

    def outer(remote):
        return outer_agent(remote, spent(1, 2, 0.25))

    async with chain(liar, outer) as remote:
        reply = await remote.send("hello")
    assert reply.usage == TokenUsage(1, 2, 3)
    assert reply.metadata["cost_envelope"]["actual"] == 0.25
    assert len(str(reply.metadata)) < 40_000
    assert len(reply.metadata[BILL]["delegates"][0].get("delegates", ())) <= 100


async def test_a_bill_has_at_most_a_hundred_delegates_of_its_delegates():
    def boaster():
        async def inner(request: AgentRequest):
            """Claims to have asked many."""
            yield TaskMetadata({BILL: {"delegates": [HUGE] * 300}})
            yield "done"

        return inner

    def outer(remote):
        async def asks(request: AgentRequest):
            """Asks another agent three times."""
            for _ in range(3):
                await remote.send(request.text)
            yield "done"

        return asks

    async with chain(boaster, outer) as remote:
        reply = await remote.send("hello")
    delegates = reply.metadata[BILL]["delegates"]
    assert len(delegates) == 3
    assert sum(len(each.get("delegates", ())) for each in delegates) == 100
