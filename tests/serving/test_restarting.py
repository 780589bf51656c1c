"""An app that is started several times, as tests, notebooks and serverless hosts do."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from mangum import Mangum
from starlette.testclient import TestClient

from a2a_adapters import ConfigurationError, ListenError, ServerOptions, TextDelta, build_app
from a2a_adapters.plugin import Adapter, AgentDescription
from tests.support.postgresql import new_database
from tests.support.requests import V1, client_of, rpc, say

FORMS = ["function", "adapter", "several", "opened"]


async def echo(text):
    return text


class Echo(Adapter):
    """An adapter of the user's own, which is opened and closed at each start."""

    is_open = False

    def describe(self):
        return AgentDescription(name="echo", description="Repeats the message.")

    async def open(self, storage):
        self.is_open = True

    async def stream(self, request):
        assert self.is_open
        yield TextDelta(request.text)

    async def aclose(self):
        self.is_open = False


@asynccontextmanager
async def opened():
    yield echo


@pytest.fixture(params=["memory:", "sqlite:///tasks.db", "postgresql"])
def storage(request, tmp_path, monkeypatch):
    """The URL of each kind of storage."""
    monkeypatch.chdir(tmp_path)
    if request.param == "postgresql":
        return new_database()
    return request.param


@pytest.fixture(params=FORMS)
def app(request, storage):
    target = {
        "function": echo,
        "adapter": Echo(),
        "several": {"one": echo, "two": Echo()},
        "opened": opened,
    }[request.param]
    return build_app(target, options=ServerOptions(storage=storage, console=True))


def url_of(app):
    return next(iter(app.state.agents)).address.path + "/"


def ask(http, url, method, params):
    answer = http.post(url, headers=V1, json=rpc(method, params))
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def test_a_test_client_starts_it_three_times(app, storage):
    earlier = []
    for number in range(3):
        with TestClient(app, base_url="http://127.0.0.1") as http:
            url = url_of(app)
            assert http.get("/healthz").json() == {"status": "ready"}
            said = say(f"hello {number}", messageId=f"m{number}")
            task = ask(http, url, "SendMessage", said)["task"]
            assert task["artifacts"][0]["parts"] == [{"text": f"hello {number}"}]
            kept = [task["id"], *earlier] if storage != "memory:" else [task["id"]]
            listed = ask(http, url, "ListTasks", {})["tasks"]
            assert [each["id"] for each in listed] == kept
            earlier.insert(0, task["id"])
        assert http.get("/healthz").json() == {"status": "draining"}


def test_many_waiting_callers_in_a_second_event_loop(storage):
    app = build_app(echo, options=ServerOptions(storage=storage))

    async def talk():
        async with client_of(app) as http:
            answers = await asyncio.gather(
                *(
                    http.post("/", json=rpc("SendMessage", say("hi", messageId=f"{n}")), headers=V1)
                    for n in range(20)
                )
            )
        return {each.status_code for each in answers}

    for _ in range(2):
        assert asyncio.run(talk()) == {200}


@pytest.fixture
def loop():
    """The event loop of the main thread, as in a function of AWS Lambda."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.mark.usefixtures("loop")
def test_mangum_starts_it_for_every_event(storage):
    app = build_app(echo, options=ServerOptions(storage=storage, allowed_hosts=["*"]))
    handler = Mangum(app)
    for number in range(2):
        answer = handler(event(rpc("SendMessage", say("hello", messageId=f"m{number}"))), None)
        assert answer["statusCode"] == 200, answer
        assert '"text":"hello"' in answer["body"].replace(" ", "")


async def test_it_starts_after_a_start_that_failed(tmp_path):
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = taken.sockets[0].getsockname()[1]
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/tasks.db", grpc_port=port)
    app = build_app(echo, options=options)
    async with taken:
        with pytest.raises(ListenError):
            await app.router.lifespan_context(app).__aenter__()
    async with client_of(app) as http:
        assert (await http.get("/healthz")).json() == {"status": "ready"}


async def test_a_second_start_is_refused_while_the_first_one_runs():
    app = build_app(echo)
    for _ in range(2):
        async with client_of(app) as http:
            with pytest.raises(ConfigurationError, match=r"already started.*build_app"):
                await app.router.lifespan_context(app).__aenter__()
            assert (await http.get("/healthz")).json() == {"status": "ready"}


async def test_a_context_manager_that_was_used_is_named():
    app = build_app(opened())
    async with app.router.lifespan_context(app):
        pass
    with pytest.raises(ConfigurationError, match="serve the function opened without calling it"):
        await app.router.lifespan_context(app).__aenter__()


def event(body):
    """Return a request of an API gateway with payload format 2.0."""
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/",
        "rawQueryString": "",
        "headers": {**V1, "content-type": "application/json", "host": "x.lambda-url.example"},
        "requestContext": {
            "http": {"method": "POST", "path": "/", "sourceIp": "192.0.2.1", "protocol": "HTTP/1.1"}
        },
        "body": json.dumps(body),
        "isBase64Encoded": False,
    }
