"""Bearer tokens, API keys and custom authenticators, over real HTTP."""

from __future__ import annotations

import logging

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.client.auth import AuthInterceptor, CredentialService
from a2a.types import HTTPAuthSecurityScheme, SecurityScheme, TaskState

from a2a_adapters import (
    AgentRequest,
    AnyOf,
    ApiKeys,
    Authenticator,
    BearerTokens,
    ConfigurationError,
    ForbiddenError,
    InputRequired,
    ServerOptions,
    UnauthenticatedError,
    build_app,
)
from a2a_adapters.testing import running, stream, user_message
from tests.support.requests import MESSAGE, OLD_MESSAGE, V1, rpc, say

TOKENS = BearerTokens({"ann-token": "ann", "bob-token": "bob"})
KEYS = ApiKeys({"ann-key": "ann"})
SEND = rpc("SendMessage", say("hello"))


async def whoami(request: AgentRequest) -> str:
    return request.owner


async def booking(request: AgentRequest):
    """Book a flight."""
    city = yield InputRequired("Where to?")
    yield f"{city.owner} goes to {city.text}"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def protected(authentication, target=whoami):
    return running(build_app(target, options=ServerOptions(authentication=authentication)))


def client(url, **headers):
    return httpx.AsyncClient(base_url=url, headers=V1 | headers, timeout=60)


def text_of(response):
    [artifact] = response.json()["result"]["task"]["artifacts"]
    return artifact["parts"][0]["text"]


async def test_the_user_of_the_credentials_owns_the_task():
    async with protected(AnyOf(TOKENS, KEYS)) as url, client(url) as http:
        for headers in (
            bearer("ann-token"),
            {"authorization": "bearer ann-token"},
            {"Authorization": "BEARER  ann-token"},
            {"x-api-key": "ann-key"},
            bearer("wrong") | {"X-API-Key": "ann-key"},
        ):
            assert text_of(await http.post("/", json=SEND, headers=headers)) == "ann", headers


PATHS = [
    ("POST", "/"),
    ("POST", "/message:send"),
    ("GET", "/tasks"),
    ("GET", "/tasks/x"),
    ("GET", "/v1/tasks/x"),
    ("GET", "/extendedAgentCard"),
    ("GET", "/nothing"),
]


async def test_everybody_else_is_refused(caplog):
    caplog.set_level(logging.DEBUG)
    async with protected(AnyOf(TOKENS, KEYS)) as url, client(url) as http:
        for headers in (
            {},
            {"Authorization": ""},
            {"Authorization": "Bearer"},
            {"Authorization": "ann-token"},
            {"Authorization": "Basic ann-token"},
            bearer("wrong"),
            bearer("ann-token, Bearer bob-token"),
            bearer("ANN-TOKEN"),
            bearer("ann-toke"),
            {"Authorization": b"Bearer \xff\xfe"},
            {"X-API-Key": ""},
            {"X-API-Key": "ann-token"},
            bearer("ann-key"),
        ):
            for method, path in PATHS:
                response = await http.request(method, path, headers=headers)
                assert response.status_code == 401, (headers, path)
                challenges = response.headers["www-authenticate"]
                assert challenges.startswith("Bearer")
                assert challenges.endswith('ApiKey header="X-API-Key"')
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("a2a_adapters")]
    assert any("refused '/'" in message for message in ours)
    assert not [message for message in ours if "ann-" in message]


@pytest.mark.parametrize("name", ["ann\nFORGED", "ann\x1b[2J", "ann\x00", "ann\u202e"])
async def test_names_of_users_are_printable(name):
    class Names(Authenticator):
        def security_schemes(self):
            return BearerTokens({"x": "y"}).security_schemes()

        async def authenticate(self, headers):
            return name

    app = build_app(whoami, options=ServerOptions(authentication=Names(), grpc_port=0))
    async with running(app) as url, client(url) as http:
        answer = await http.post("/", json=rpc("SendMessage", say("hello")))
        assert answer.status_code == 401
        assert "not printable" in answer.json()["error"]["message"]


async def test_duplicate_headers_are_not_accepted():
    async with protected(TOKENS) as url, client(url) as http:
        headers = [("Authorization", "Bearer ann-token"), ("Authorization", "Bearer bob-token")]
        assert (await http.post("/", json=SEND, headers=headers)).status_code == 401


async def test_a_websocket_is_closed_like_any_other_that_is_not_there():
    app = build_app(whoami, options=ServerOptions(authentication=TOKENS))
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message["type"])

    scope = {
        "type": "websocket",
        "path": "/",
        "headers": [(b"authorization", b"Bearer ann-token")],
    }
    await app(scope, receive, send)
    assert sent == ["websocket.close"]


async def test_a_refusal_has_the_form_of_its_binding():
    async with protected(TOKENS) as url, client(url) as http:
        call = (await http.post("/", json=SEND)).json()
        rest = (await http.post("/message:send", json=say("hello"))).json()
    detail = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "UNAUTHENTICATED",
        "domain": "a2a-adapters",
    }
    message = "send a bearer token in the header Authorization"
    assert call == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32000, "message": message, "data": [detail]},
    }
    assert rest["error"] == {
        "code": 401,
        "status": "UNAUTHENTICATED",
        "message": message,
        "details": [detail],
    }


async def test_the_card_is_public_and_describes_the_credentials():
    authentication = AnyOf(TOKENS, ApiKeys({"k": "ann"}, header="X-Key"))
    async with protected(authentication) as url, client(url) as http:
        card = (await http.get("/.well-known/agent-card.json")).json()
    bearer_scheme, key_scheme = (card["securitySchemes"][name] for name in ("bearer", "apiKey"))
    assert bearer_scheme["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert key_scheme["apiKeySecurityScheme"] == {"location": "header", "name": "X-Key"}
    assert [list(r["schemes"]) for r in card["securityRequirements"]] == [["bearer"], ["apiKey"]]
    # The same for clients of 0.3, where `security` lists the alternatives.
    assert (bearer_scheme["type"], bearer_scheme["scheme"]) == ("http", "Bearer")
    assert (key_scheme["type"], key_scheme["in"], key_scheme["name"]) == (
        "apiKey",
        "header",
        "X-Key",
    )
    assert card["security"] == [{"bearer": []}, {"apiKey": []}]


async def test_an_open_agent_needs_no_credentials():
    async with running(build_app(whoami)) as url, client(url) as http:
        card = (await http.get("/.well-known/agent-card.json")).json()
        assert text_of(await http.post("/", json=SEND, headers=bearer("ann-token"))) == ""
    assert not {"securitySchemes", "securityRequirements", "security"} & card.keys()


@pytest.mark.parametrize(("scheme", "secret"), [("bearer", "ann-token"), ("apiKey", "ann-key")])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_the_official_client_authenticates_as_the_card_says(scheme, secret, binding):
    class Credentials(CredentialService):
        async def get_credentials(self, security_scheme_name, context):
            return secret if security_scheme_name == scheme else None

    async with protected(AnyOf(TOKENS, KEYS)) as url, httpx.AsyncClient(timeout=60) as http:
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=[binding])
        interceptors = [AuthInterceptor(Credentials())]
        agent = await create_client(url, config, interceptors=interceptors)
        events = await stream(agent, user_message("hello"))
        assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


NOT_FOUND = {"JSONRPC": -32001, "REST": 404}


async def test_no_operation_reveals_another_users_tasks():
    """Bob knows the ids of Ann's running task and of her conversation."""
    async with (
        protected(TOKENS, booking) as url,
        client(url, **bearer("ann-token")) as ann,
        client(url, **bearer("bob-token")) as bob,
    ):
        task = (await ann.post("/", json=SEND)).json()["result"]["task"]
        task_id, context_id = task["id"], task["contextId"]
        follow_up = MESSAGE | {"taskId": task_id, "contextId": context_id}

        for call in (
            rpc("GetTask", {"id": task_id}),
            rpc("CancelTask", {"id": task_id}),
            rpc("SubscribeToTask", {"id": task_id}),
            rpc("SendMessage", {"message": follow_up}),
            rpc("SendStreamingMessage", {"message": follow_up}),
        ):
            answer = (await bob.post("/", json=call)).json()
            assert answer["error"]["code"] == -32001, call["method"]
            assert "ann" not in str(answer)
        for method, path, content in (
            ("GET", f"/tasks/{task_id}", None),
            ("POST", f"/tasks/{task_id}:cancel", {}),
            ("GET", f"/tasks/{task_id}:subscribe", None),
            ("POST", "/message:send", {"message": follow_up}),
            ("POST", "/message:stream", {"message": follow_up}),
        ):
            response = await bob.request(method, path, json=content)
            assert response.status_code == 404, path
            assert response.json()["error"]["details"][0]["reason"] == "TASK_NOT_FOUND"
        for listed in (
            (await bob.post("/", json=rpc("ListTasks", {"contextId": context_id}))).json()[
                "result"
            ],
            (await bob.get("/tasks")).json(),
        ):
            assert (listed["tasks"], listed["totalSize"]) == ([], 0)

        await nothing_by_the_old_version(bob, task_id, context_id)

        # Ann's task is unchanged.
        assert (await ann.post("/", json=rpc("GetTask", {"id": task_id}))).json()["result"] == task
        done = await ann.post("/", json=rpc("SendMessage", {"message": follow_up}))
        assert text_of(done) == "ann goes to hello"


async def nothing_by_the_old_version(bob, task_id, context_id):
    del bob.headers["A2A-Version"]
    follow_up = OLD_MESSAGE | {"taskId": task_id, "contextId": context_id}
    for call in (
        rpc("tasks/get", {"id": task_id}),
        rpc("tasks/cancel", {"id": task_id}),
        rpc("message/send", {"message": follow_up}),
    ):
        answer = (await bob.post("/", json=call)).json()
        assert answer["error"]["code"] == -32001, call["method"]
    for call in (
        rpc("tasks/resubscribe", {"id": task_id}),
        rpc("message/stream", {"message": follow_up}),
    ):
        assert "-32001" in (await bob.post("/", json=call)).text, call["method"]
    for method, path in (
        ("GET", f"/v1/tasks/{task_id}"),
        ("POST", f"/v1/tasks/{task_id}:cancel"),
    ):
        assert (await bob.request(method, path)).status_code == 404, path


async def test_the_same_context_id_of_two_users_is_two_conversations():
    async def remember(request: AgentRequest) -> str:
        return " ".join(turn.text for turn in request.history)

    async with protected(TOKENS, remember) as url, client(url) as http:
        call = rpc("SendMessage", say("hello", contextId="shared"))
        await http.post("/", json=call, headers=bearer("ann-token"))
        assert text_of(await http.post("/", json=call, headers=bearer("ann-token"))) == "hello "
        bobs = await http.post("/", json=call, headers=bearer("bob-token"))
        assert text_of(bobs) == ""


class Badges(Authenticator):
    """A custom authenticator."""

    challenge = "Badge"

    def security_schemes(self):
        scheme = HTTPAuthSecurityScheme(scheme="Badge")
        return {"badge": SecurityScheme(http_auth_security_scheme=scheme)}

    async def authenticate(self, headers):
        match headers.get("authorization", "").split():
            case ["Badge", "guest"]:
                raise ForbiddenError("guests may not use this agent")
            case ["Badge", "broken"]:
                raise RuntimeError("hunter2")
            case ["Badge", name]:
                return name
        raise UnauthenticatedError("show a badge")


async def test_an_authenticator_of_ones_own(caplog):
    async with protected(Badges()) as url, client(url) as http:

        async def send(badge):
            headers = {"Authorization": f"Badge {badge}"}
            return await http.post("/", json=SEND, headers=headers)

        assert text_of(await send("eve")) == "eve"
        nobody = await http.post("/", json=SEND)
        assert (nobody.status_code, nobody.headers["www-authenticate"]) == (401, "Badge")
        guest = await send("guest")
        assert guest.status_code == 403
        assert guest.json()["error"]["message"] == "guests may not use this agent"
        assert guest.json()["error"]["data"][0]["reason"] == "PERMISSION_DENIED"
        broken = await send("broken")
    assert broken.status_code == 503
    assert "hunter2" not in broken.text
    assert "hunter2" in caplog.text


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: BearerTokens({}), "could not be used"),
        (lambda: BearerTokens({"": "ann"}), "cannot be sent"),
        (lambda: BearerTokens({"a b": "ann"}), "cannot be sent"),
        (lambda: BearerTokens({"tökén": "ann"}), "cannot be sent"),
        (lambda: BearerTokens({"token": ""}), "name of its user"),
        (lambda: ApiKeys({"key": "ann"}, header="X Key"), "not the name of a header"),
        (
            lambda: AnyOf(ApiKeys({"a": "x"}), ApiKeys({"a": "x"}, header="X-Other")),
            "two security schemes named 'apiKey'",
        ),
    ],
)
def test_impossible_options_are_refused_immediately(make, problem):
    with pytest.raises(ConfigurationError, match=problem) as raised:
        make()
    assert "tökén" not in str(raised.value)


def test_secrets_are_not_kept():
    assert "ann-token" not in str(vars(vars(TOKENS)["_users"]))
