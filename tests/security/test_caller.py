"""What agents learn about their callers: claims, scopes, tenant and chosen headers."""

from __future__ import annotations

import asyncio
import json
import threading

import httpx
import pytest

from a2a_adapters import (
    AgentRequest,
    AnyOf,
    ApiKeys,
    Authenticator,
    BearerAuth,
    BearerTokens,
    Caller,
    ForbiddenError,
    InputRequired,
    RemoteAgent,
    RemoteOptions,
    ServerOptions,
    UnauthenticatedError,
    build_app,
    current_request,
)
from a2a_adapters.testing import running
from tests.support.grpc_agents import grpc_agent
from tests.support.requests import old_say, rpc, say

V1 = {"A2A-Version": "1.0"}
SECRET = "claim-that-nobody-stores"


class Passes(Authenticator):
    """Accepts `Bearer <JSON>` and takes the JSON for the caller."""

    def security_schemes(self):
        return BearerTokens({"x": "x"}).security_schemes()

    async def authenticate(self, headers):
        return (await self.identify(headers)).owner

    async def identify(self, headers):
        scheme, _, text = headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not text.startswith("{"):
            raise UnauthenticatedError("show a pass")
        about = json.loads(text)
        return Caller(**about | {"scopes": frozenset(about.get("scopes", ()))})


def pass_of(owner, **about):
    return json.dumps({"owner": owner, **about})


ANN = pass_of("ann", claims={"team": SECRET}, scopes=["read", "book"], tenant="acme")
HEADERS = {"Authorization": f"Bearer {ANN}", "X-Plan": "gold", "X-Other": "no"}
OPTIONS = ServerOptions(authentication=Passes(), caller_headers=["X-Plan"])


async def who(request: AgentRequest) -> dict:
    """Tell what is known about the caller."""
    return told(request.caller)


def told(caller):
    return {
        "owner": caller.owner,
        "claims": caller.claims,
        "scopes": sorted(caller.scopes),
        "tenant": caller.tenant,
        "headers": caller.headers,
    }


EXPECTED = {
    "owner": "ann",
    "claims": {"team": SECRET},
    "scopes": ["book", "read"],
    "tenant": "acme",
    "headers": {"x-plan": "gold"},
}


def http_client(url, headers=HEADERS):
    return httpx.AsyncClient(base_url=url, headers=V1 | headers, timeout=60)


async def asked(http, text="hello", **fields):
    """Send a message and return the data of the answer."""
    response = await http.post("/", json=rpc("SendMessage", say(text, **fields)))
    return data_of(response.json()["result"]["task"])


def data_of(task):
    [part] = task["artifacts"][0]["parts"]
    return part["data"]


async def test_an_agent_learns_the_same_over_json_rpc_rest_and_the_old_version():
    async with running(build_app(who, options=OPTIONS)) as url, http_client(url) as http:
        assert await asked(http) == EXPECTED
        sent = await http.post("/message:send", json=say("hello"))
        assert data_of(sent.json()["task"]) == EXPECTED
        old = {"A2A-Version": "0.3"}
        sent = await http.post("/", json=rpc("message/send", old_say("hello")), headers=old)
        assert data_of(sent.json()["result"]) == EXPECTED


async def test_an_agent_learns_the_same_over_grpc():
    remote = RemoteOptions(timeout=60, trusted_hosts=["127.0.0.1"])
    options = {"authentication": Passes(), "caller_headers": ["x-plan"], "remote": remote}
    async with grpc_agent(who, auth=BearerAuth(ANN), **options) as agent:
        reply = await agent.send("hello", headers={"X-Plan": "gold", "X-Other": "no"})
    assert reply.data == [EXPECTED]


async def test_headers_of_anonymous_callers_are_handed_over_by_name_only():
    options = ServerOptions(caller_headers=["x-PLAN", "authorization"])
    async with running(build_app(who, options=options)) as url, http_client(url) as http:
        seen = await asked(http)
        assert seen["headers"] == {"x-plan": "gold", "authorization": f"Bearer {ANN}"}
        assert seen["owner"] == ""
        assert seen["claims"] == {}
    async with running(build_app(who)) as url, http_client(url) as http:
        assert (await asked(http))["headers"] == {}


async def test_an_authenticator_that_only_knows_names_is_enough():
    options = ServerOptions(authentication=AnyOf(ApiKeys({"key": "bob"}), Passes()))
    async with running(build_app(who, options=options)) as url:
        async with http_client(url, {"X-API-Key": "key"}) as http:
            assert await asked(http) == told(Caller(owner="bob"))
        async with http_client(url) as http:
            assert await asked(http) == EXPECTED | {"headers": {}}


async def test_any_of_knows_what_the_one_knows_that_accepts_the_request():
    """Of a request with two credentials it is the first, and its refusal is not overlooked."""

    class Suspends(Passes):
        async def authenticate(self, headers):
            return "ann"  # it knows more about the caller only when it identifies them

        async def identify(self, headers):
            raise ForbiddenError("the account is suspended")

    both = {"X-API-Key": "key", **HEADERS}
    first = AnyOf(ApiKeys({"key": "bob"}), Passes())
    assert await first.identify({"x-api-key": "key", "authorization": f"Bearer {ANN}"}) == Caller(
        owner="bob"
    )
    options = ServerOptions(authentication=AnyOf(Suspends(), ApiKeys({"key": "bob"})))
    async with running(build_app(who, options=options)) as url:
        async with http_client(url) as http:
            assert (await http.post("/", json=rpc("SendMessage", say("hi")))).status_code == 403
        async with http_client(url, both) as http:
            assert await asked(http) == told(Caller(owner="bob"))


async def test_a_subclass_that_renames_users_keeps_its_word():
    class Renamed(AnyOf):
        async def authenticate(self, headers):
            return f"site/{await super().authenticate(headers)}"

    options = ServerOptions(authentication=Renamed(Passes()))
    async with running(build_app(who, options=options)) as url, http_client(url) as http:
        assert await asked(http) == EXPECTED | {"owner": "site/ann", "headers": {}}


@pytest.mark.parametrize(
    "parameters", ["caller: Caller, text: str", "text: str, *, caller: Caller"]
)
async def test_a_function_may_take_the_caller_beside_its_arguments(parameters):
    namespace = {"Caller": Caller}
    code = f"async def greet({parameters}) -> str:\n    return f'{{text}} {{caller.tenant}}'"
    exec(code, namespace)  # the same function with other parameters
    app = build_app(namespace["greet"], options=OPTIONS)
    async with running(app) as url, RemoteAgent(url, auth=BearerAuth(ANN)) as agent:
        assert (await agent.send("hello")).text == "hello acme"


async def test_a_function_may_take_the_caller_and_typed_arguments():
    async def book(seats: int, caller: Caller, city: str = "Rome") -> str:
        return f"{seats} to {city} for {caller.owner}"

    async with running(build_app(book, options=OPTIONS)) as url, http_client(url) as http:
        card = (await http.get("/.well-known/agent-card.json")).text
        assert "caller" not in card
        async with RemoteAgent(url, auth=BearerAuth(ANN)) as agent:
            assert (await agent.send("3")).text == "3 to Rome for ann"


async def test_the_current_request_is_that_of_each_caller_in_tasks_and_threads():
    assert current_request() is None
    everyone_is_here = asyncio.Event()
    here = []

    async def nested():
        here.append(current_request().caller.owner)
        if len(here) == 8:
            everyone_is_here.set()
        await everyone_is_here.wait()
        return await asyncio.to_thread(lambda: current_request().caller.owner)

    async def agent(_text: str) -> str:
        return " ".join(await asyncio.gather(nested(), nested()))

    async with running(build_app(agent, options=OPTIONS)) as url:

        async def call(owner):
            async with RemoteAgent(url, auth=BearerAuth(pass_of(owner))) as remote:
                return (await remote.send("hello", context_id="shared")).text

        owners = ["ann", "bob", "cyd", "dan"]
        assert await asyncio.gather(*map(call, owners)) == [f"{name} {name}" for name in owners]
    assert current_request() is None


async def test_a_blocking_function_sees_its_own_request():
    barrier = threading.Barrier(2, timeout=60)

    def agent(_text: str) -> str:
        barrier.wait()
        return current_request().caller.owner

    async with running(build_app(agent, options=OPTIONS)) as url:

        async def call(owner):
            async with RemoteAgent(url, auth=BearerAuth(pass_of(owner))) as remote:
                return (await remote.send("hello")).text

        assert await asyncio.gather(call("ann"), call("bob")) == ["ann", "bob"]


async def test_an_answer_brings_the_caller_of_its_own_message():
    async def agent(request: AgentRequest):
        before = current_request().caller
        answer = yield InputRequired("Which?")
        now = current_request()
        yield f"{before.tenant} {request.caller.tenant} {now.caller.tenant} {answer.caller.tenant}"

    async with running(build_app(agent, options=OPTIONS)) as url:
        async with RemoteAgent(url, auth=BearerAuth(pass_of("ann", tenant="one"))) as first:
            question = await first.send("hello")
        async with RemoteAgent(url, auth=BearerAuth(pass_of("ann", tenant="two"))) as second:
            ids = {"task_id": question.task_id, "context_id": question.context_id}
            assert (await second.send("this", **ids)).text == "one one two two"


async def test_claims_and_headers_are_neither_stored_nor_logged_nor_shown(tmp_path, caplog):
    caplog.set_level("DEBUG")
    seen = []

    async def agent(request: AgentRequest):
        seen.append(request.caller)
        yield InputRequired("Which?")
        raise RuntimeError("broken")

    options = ServerOptions(
        authentication=Passes(),
        caller_headers=["authorization"],
        storage=f"sqlite:///{tmp_path / 'agents.db'}",
    )
    async with running(build_app(agent, options=options)) as url, http_client(url) as http:
        sent = await http.post("/", json=rpc("SendMessage", say("hello")))
        task = sent.json()["result"]["task"]
        again = say("this", taskId=task["id"], messageId="message-2")
        failed = await http.post("/", json=rpc("SendMessage", again))
        assert failed.json()["result"]["task"]["status"]["state"] == "TASK_STATE_FAILED"
        assert SECRET not in sent.text + failed.text
    assert seen[0].claims == {"team": SECRET}
    assert SECRET in seen[0].headers["authorization"]
    assert SECRET not in repr(seen[0])
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert task["id"].encode() in stored
    assert SECRET.encode() not in stored
    assert SECRET not in caplog.text
