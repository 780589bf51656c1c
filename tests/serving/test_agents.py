"""Several agents on one port."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import GetTaskRequest, ListTasksRequest
from a2a.utils.errors import TaskNotFoundError

from a2a_adapters import (
    AgentRequest,
    BearerTokens,
    ConfigurationError,
    Limits,
    RemoteAgent,
    ServerOptions,
    build_app,
)
from a2a_adapters.plugin import Adapter, AgentDescription, Plugins, hookimpl
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.support.requests import V1, client_of, rpc, say, serving

CARD = ".well-known/agent-card.json"


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


async def recall(request: AgentRequest) -> str:
    """Repeat the previous messages."""
    return " ".join(turn.text for turn in request.history)


async def test_each_answers_in_its_place():
    app = build_app({"loud": shout, "memory": recall})
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        listed = (await http.get("/agents")).json()["agents"]
        assert [agent["name"] for agent in listed] == ["loud", "memory"]
        assert listed[0]["description"] == "Say it louder."
        for agent in listed:
            card = (await http.get(agent["card"])).json()
            assert agent["url"] == f"{url}/agents/{agent['name']}/"
            assert (card["name"], card["url"]) == (agent["name"], agent["url"])
            assert all(i["url"].startswith(agent["url"][:-1]) for i in card["supportedInterfaces"])
            assert (await http.get(agent["url"])).status_code == 405
        assert (await http.get(f"/{CARD}")).status_code == 404
        assert (await http.post("/", json={})).status_code == 405
        for binding in ("JSONRPC", "HTTP+JSON"):
            async with connect(listed[0]["url"], binding=binding) as client:
                assert answer_of(await send(client, user_message("hi"))) == "HI"


async def test_the_only_agent_is_also_at_the_root():
    async with running(build_app({"loud": shout})) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            for path in (CARD, f"agents/loud/{CARD}"):
                card = (await http.get(path)).json()
                assert (card["name"], card["url"]) == ("loud", f"{url}/agents/loud/")
        assert (await RemoteAgent(url).send("hi")).text == "HI"
        for binding in ("JSONRPC", "HTTP+JSON"):
            async with connect(url, binding=binding) as client:
                assert answer_of(await send(client, user_message("hi"))) == "HI"


async def test_an_agents_address_may_lack_its_slash():
    call = rpc("SendMessage", say("hi"))
    tokens = ServerOptions(authentication=BearerTokens({"secret": "ann"}))
    async with serving({"loud": shout, "memory": recall}, options=tokens, headers=V1) as http:
        for path in ("/agents/loud", "/agents/loud/"):
            refused = await http.post(path, json=call)
            assert (refused.status_code, refused.json()["error"]["code"]) == (401, -32000)
            answer = await http.post(path, json=call, headers={"Authorization": "Bearer secret"})
            [artifact] = answer.json()["result"]["task"]["artifacts"]
            assert artifact["parts"] == [{"text": "HI"}]
        assert (await http.post("/agents/quiet", json=call)).status_code == 404


@pytest.mark.parametrize("store", [None, InMemoryTaskStore])
async def test_agents_are_isolated_from_each_other(store):
    options = ServerOptions(task_store=store() if store else None)
    app = build_app({"one": recall, "two": recall}, options=options)
    async with (
        running(app) as url,
        connect(f"{url}/agents/one/", user="ann") as one,
        connect(f"{url}/agents/two/", user="ann") as two,
    ):
        await send(one, user_message("first", context_id="c"))
        task = await send(one, user_message("second", context_id="c"))
        assert "first" in answer_of(task)
        other = await send(two, user_message("third", context_id="c"))
        assert answer_of(other) == ""
        with pytest.raises(TaskNotFoundError):
            await two.get_task(GetTaskRequest(id=task.id))
        assert (await two.list_tasks(ListTasksRequest())).total_size == 1
        assert (await one.list_tasks(ListTasksRequest())).total_size == 2
        assert (await one.get_task(GetTaskRequest(id=task.id))).id == task.id


async def test_behind_a_proxy_each_has_its_public_address():
    options = ServerOptions(trust_forwarded=True, allowed_hosts=["a.example"])
    agents = {"one": shout}
    forwarded = {
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Host": "a.example",
        "X-Forwarded-Prefix": "/x",
    }
    for app, headers in (
        (build_app(agents, options=options), forwarded),
        (build_app(agents, url="https://a.example/x/"), {}),
    ):
        async with client_of(app, headers=headers) as http:
            card = (await http.get(f"/agents/one/{CARD}")).json()
            [listed] = (await http.get("/agents")).json()["agents"]
        assert card["url"] == listed["url"] == "https://a.example/x/agents/one/"
        assert listed["card"] == f"https://a.example/x/agents/one/{CARD}"


async def test_all_agents_require_authentication():
    options = ServerOptions(authentication=BearerTokens({"secret": "ann"}))
    async with serving({"one": shout, "two": shout}, options=options) as http:
        for name in ("one", "two"):
            assert (await http.get(f"/agents/{name}/{CARD}")).json()["securityRequirements"]
            for path in ("", "tasks", "nothing"):
                response = await http.post(f"/agents/{name}/{path}", json={})
                assert response.status_code == 401
        assert (await http.get("/agents")).status_code == 200


async def test_all_are_released_at_the_end():
    closed = []

    class Closing(Adapter):
        def __init__(self, name):
            self.name = name

        def describe(self):
            return AgentDescription(name=self.name, description="Notes its end.")

        async def stream(self, request):
            return
            yield

        async def aclose(self):
            await asyncio.sleep(0)
            closed.append(self.name)

    async with running(build_app({"a": Closing("a"), "b": Closing("b")})):
        pass
    assert sorted(closed) == ["a", "b"]


@pytest.mark.parametrize(
    ("agents", "arguments"),
    [
        ({}, {}),
        ({"": shout}, {}),
        ({"..": shout}, {}),
        ({".": shout}, {}),
        ({"a/b": shout}, {}),
        ({"a b": shout}, {}),
        ({"é": shout}, {}),
        ({"a\n": shout}, {}),
        ({"x" * 64: shout}, {}),
        ({1: shout}, {}),
        ({"one": shout}, {"name": "x"}),
        ({"one": shout}, {"description": "x"}),
    ],
)
def test_unsupported_targets_are_refused_immediately(agents, arguments):
    with pytest.raises(ConfigurationError):
        build_app(agents, **arguments)


async def test_health():
    app = build_app(shout, options=ServerOptions(authentication=BearerTokens({"s": "ann"})))
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        ready = await http.get("/healthz")
        assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
        await app.state.agents.drain()
        draining = await http.get("/healthz")
        assert (draining.status_code, draining.json()) == (503, {"status": "draining"})


async def test_apps_of_one_event_loop_leave_it_no_more_threads_than_one_of_them():
    def thread(text: str) -> str:
        return str(threading.get_ident())

    options = ServerOptions(limits=Limits(threads=1))
    seen = set()
    for _ in range(3):
        async with running(build_app(thread, options=options)) as url, connect(url) as client:
            seen.add(answer_of(await send(client, user_message("hi"))))
    assert len(seen) == 1


async def test_apps_of_one_event_loop_have_the_threads_that_one_of_them_allows():
    together = threading.Barrier(2, timeout=60)

    def meet(text: str) -> str:
        together.wait()
        return "met"

    few, more = (build_app(meet, options=ServerOptions(limits=Limits(threads=n))) for n in (1, 2))
    async with running(few) as alone, running(more), connect(alone) as client:
        answers = await asyncio.gather(*(send(client, user_message("hi")) for _ in range(2)))
    assert [answer_of(answer) for answer in answers] == ["met", "met"]


class Pigeons(Adapter):
    """An agent and the plugin of its protocol binding."""

    name, protocol, port = "pigeons", "PIGEON", 7

    def __init__(self):
        self.calls = []

    def describe(self):
        return AgentDescription(name="agent", description="An agent.")

    async def stream(self, request):
        yield

    @hookimpl
    def a2a_binding(self, runtime, options, rates):
        return self

    def url(self, http_url):
        return f"pigeon:{http_url.rpartition(':')[0]}"

    async def start(self):
        self.calls.append("start")

    async def stop(self):
        self.calls.append("stop")


async def test_a_plugins_binding_runs_with_the_server_and_is_in_the_card(monkeypatch):
    plugins, agent = Plugins(), Pigeons()
    plugins.register(agent)
    monkeypatch.setattr("a2a_adapters.serving.agents.installed_plugins", lambda: plugins)
    async with running(build_app(agent)) as url, httpx.AsyncClient() as http:
        interfaces = (await http.get(f"{url}/{CARD}")).json()["supportedInterfaces"]
        assert agent.calls == ["start"]
    assert agent.calls == ["start", "stop"]
    found = [each["url"] for each in interfaces if each["protocolBinding"] == "PIGEON"]
    assert found == ["pigeon:http://127.0.0.1"] * 2
    with pytest.raises(ConfigurationError, match="needs the plugin grpc"):
        build_app(agent, options=ServerOptions(grpc_port=0))
