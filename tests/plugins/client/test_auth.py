"""`a2a-adapters auth`, the use of its tokens, and tasks that wait for a login."""

from __future__ import annotations

import asyncio
import json
import stat
from contextlib import AsyncExitStack

import httpx
import pytest
import pytest_asyncio
from a2a.types import (
    ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityScheme,
)
from a2a_adapters_client.oauth.device import DeviceLogin
from a2a_adapters_oauth.discovery import LoginFlow
from a2a_adapters_oauth.endpoints import Client
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters import (
    AgentRequest,
    Authenticator,
    AuthRequired,
    Data,
    RemoteAuthError,
    ServerOptions,
    build_app,
)
from a2a_adapters.contract.errors import UnauthenticatedError
from a2a_adapters.protocol.card import CARD_TYPE, CATALOG_PATH
from a2a_adapters.testing import running
from tests.plugins.client.authorization import SECRET, AuthorizationServer

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]

MACHINE = {"A2ACLI_CLIENT_ID": "machine", "A2ACLI_CLIENT_SECRET": SECRET}
PERSON = {"A2ACLI_CLIENT_ID": "person"}


class Tokens(Authenticator):
    """Accepts the tokens of an authorization server."""

    def __init__(self, server, url, kind):
        self.server, self.url, self.kind = server, url, kind
        self.seen = []

    def security_schemes(self):
        token, device = f"{self.url}/token", f"{self.url}/device"
        match self.kind:
            case "openid":
                url = f"{self.url}/.well-known/openid-configuration"
                scheme = OpenIdConnectSecurityScheme(open_id_connect_url=url)
                return {"oidc": SecurityScheme(open_id_connect_security_scheme=scheme)}
            case "machine":
                flow = ClientCredentialsOAuthFlow(token_url=token, scopes={"ask": "Ask."})
                flows = OAuthFlows(client_credentials=flow)
            case _:
                flow = DeviceCodeOAuthFlow(
                    token_url=token, device_authorization_url=device, scopes={"ask": "Ask."}
                )
                flows = OAuthFlows(device_code=flow)
        scheme = OAuth2SecurityScheme(flows=flows)
        return {"oauth": SecurityScheme(oauth2_security_scheme=scheme)}

    async def authenticate(self, headers):
        self.seen.append(headers.get("authorization", ""))
        if headers.get("authorization", "").removeprefix("Bearer ") in self.server.valid:
            return "ann"
        raise UnauthenticatedError("log in")


@pytest_asyncio.fixture(loop_scope="module")
async def place():
    """Return a factory of agents with an authorization server."""
    async with AsyncExitStack() as stack:

        async def place(kind):
            server = AuthorizationServer()
            there = await stack.enter_async_context(running(server.app()))
            tokens = Tokens(server, there, kind)
            options = ServerOptions(authentication=tokens)
            app = build_app(lambda text: f"You said {text}", name="Echo", options=options)
            return await stack.enter_async_context(running(app)), server, tokens

        yield place


def listing(agent):
    """Return an app whose catalog lists another agent, and the credentials it receives."""
    entry = {"displayName": "echo", "mediaType": CARD_TYPE, "url": agent}
    seen = []

    async def catalog(request):
        seen.append(request.headers.get("authorization", ""))
        return JSONResponse({"specVersion": "1.0", "entries": [entry]})

    return Starlette(routes=[Route(CATALOG_PATH, catalog)]), seen


async def test_client_credentials(place, run, run_json, tmp_path):
    url, server, _ = await place("machine")
    refused = await run_json("send", url, "hi")
    assert refused["error"]["code"] == "A2ACLI_ERR_CREDENTIALS_MISSING"
    assert f"auth login -a {url}" in refused["error"]["hint"]
    done = await run("auth", "login", url, "--scope", "ask", "--scope", "tell", **MACHINE)
    assert done.returncode == 0, done.stderr
    assert "t0ken" not in done.stdout + done.stderr
    assert server.scopes == ["ask tell"]
    assert "logging in at 127.0.0.1, as named by the card" in done.stderr
    sent = await run("send", url, "hi", "--debug")
    assert "You said hi" in sent.stdout
    assert "t0ken" not in sent.stderr
    [about] = await run_json("auth", "status")
    assert (about["origin"], about["flow"], about["isRenewable"]) == (
        url.rstrip("/"), "client-credentials", True,
    )  # fmt: skip
    [file] = tmp_path.rglob("logins.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (await run("auth", "logout", url)).returncode == 0
    assert "t0ken" not in file.read_text()
    assert SECRET not in file.read_text()
    assert (await run("send", url, "hi")).returncode == 4
    assert (await run("auth", "logout", url)).returncode == 2


async def test_a_device_login(place, run):
    url, server, _ = await place("person")
    server.answers = ["authorization_pending"]
    done = await run("auth", "login", url, **PERSON)
    assert done.returncode == 0, done.stderr
    assert "open https://login.example/device\\x1b[2J and enter ABCD-EFGH" in done.stderr
    assert "\x1b" not in done.stderr
    assert "You said hi" in (await run("send", url, "hi")).stdout
    assert "You said hi" in (await run("chat", url, text="hi\n")).stdout
    assert (await run("task", "list", url)).returncode == 0


@pytest.mark.parametrize(
    ("answer", "output"), [("access_denied", "was denied"), ("expired_token", "in time")]
)
async def test_a_device_login_without_consent(place, run, run_json, answer, output):
    url, server, _ = await place("person")
    server.answers = [answer]
    done = await run("auth", "login", url, **PERSON)
    assert done.returncode == 4
    assert output in done.stderr
    assert await run_json("auth", "status") == []


async def test_slow_down_is_obeyed():
    server, waited = AuthorizationServer(), []
    server.answers = ["slow_down", "authorization_pending", "slow_down"]

    async def sleep(seconds):
        waited.append(seconds)

    transport = httpx.ASGITransport(server.app())
    async with httpx.AsyncClient(transport=transport) as http:
        there = "http://127.0.0.1"
        way = LoginFlow("device-code", f"{there}/token", "", f"{there}/device", [])
        login = DeviceLogin(http, way, Client("person"), lambda code: None, sleep)
        assert (await login.token("")).access_token
        assert waited == [1, 6, 6, 11]
        with pytest.raises(RemoteAuthError, match="invalid_client"):
            await DeviceLogin(http, way, Client("nobody"), lambda code: None, sleep).token("")


async def test_tokens_are_renewed(place, run, tmp_path):
    url, server, _ = await place("person")
    server.expires_in = 1
    await run("auth", "login", url, **PERSON)
    server.expires_in = 3600
    several = await asyncio.gather(*(run("send", url, "hi") for _ in range(3)))
    assert [each.returncode for each in several] == [0, 0, 0]
    assert server.seen["refresh_token"] == 1
    server.valid.clear()  # revoked before its expiry
    assert (await run("send", url, "hi")).returncode == 0
    assert server.seen["refresh_token"] == 2
    server.valid.clear()
    server.refresh_tokens.clear()
    done = await run("send", url, "hi")
    assert done.returncode == 4
    assert "log in again" in done.stderr
    assert "t0ken" not in done.stderr


async def test_an_expired_token_that_cannot_be_renewed(place, run, run_json):
    url, server, tokens = await place("person")
    server.expires_in, server.gives_refresh = 1, False
    await run("auth", "login", url, **PERSON)
    tokens.seen.clear()
    done = await run_json("send", url, "hi")
    assert done["error"]["code"] == "A2ACLI_ERR_AUTH_FAILED"
    assert "log in" in done["error"]["hint"]
    assert not any(tokens.seen)


async def test_tokens_go_to_their_origin_only(place, run):
    url, _, _ = await place("machine")
    other, _, others = await place("machine")
    await run("auth", "login", url, **MACHINE)
    assert (await run("send", other, "hi")).returncode == 4
    assert not any(others.seen)
    given = await run("send", url, "hi", A2ACLI_BEARER="mine")
    assert given.returncode == 4  # given credentials take precedence


async def test_a_login_goes_to_an_agent_that_another_host_lists(place, run):
    url, _, agent = await place("machine")
    catalog, seen = listing(url)
    async with running(catalog) as host:
        assert (await run("auth", "login", url, **MACHINE)).returncode == 0
        sent = await run("send", f"{host}#echo", "hi")
    assert "You said hi" in sent.stdout, sent.stderr
    assert any(agent.seen)
    assert seen
    assert not any(seen)


async def test_a_login_stays_at_its_host(place, run, tmp_path):
    url, _, _ = await place("machine")
    other, _, others = await place("machine")
    catalog, _ = listing(other)
    async with running(catalog) as host:
        assert (await run("auth", "login", url, **MACHINE)).returncode == 0
        [file] = tmp_path.rglob("logins.json")
        file.write_text(file.read_text().replace(url.rstrip("/"), host.rstrip("/")))
        for command in (["send", f"{host}#echo", "hi"], ["chat", f"{host}#echo"]):
            assert (await run(*command, text="hi\n")).returncode == 4
    assert not any(others.seen)


async def test_openid_connect(place, run, run_json):
    url, server, _ = await place("openid")
    assert (await run("auth", "login", url, **PERSON)).returncode == 0
    assert "You said hi" in (await run("send", url, "hi")).stdout
    assert (await run("auth", "login", url, **MACHINE)).returncode == 0
    [about] = await run_json("auth", "status", url)
    assert about["flow"] == "client-credentials"
    server.issuer = "https://login.example"
    done = await run("auth", "login", url, **PERSON)
    assert "another issuer" in done.stderr


async def test_invalid_logins(place, run, url, tmp_path):
    there, _, _ = await place("machine")
    assert "--client-id" in (await run("auth", "login", there)).stderr
    nothing = await run("auth", "login", url, **PERSON)
    assert (nothing.returncode, "offers no OAuth" in nothing.stderr) == (2, True)
    done = await run("auth", "login", there, "--flow", "device-code", **PERSON)
    assert (done.returncode, "no device-code" in done.stderr) == (2, True)
    wrong = await run("auth", "login", there, **(MACHINE | {"A2ACLI_CLIENT_SECRET": "wr0ng"}))
    assert (wrong.returncode, "invalid_client" in wrong.stderr) == (4, True)
    assert "wr0ng" not in wrong.stderr
    card = json.loads((await run("card", "get", there, "-o", "json")).stdout)
    flows = card["securitySchemes"]["oauth"]["oauth2SecurityScheme"]["flows"]
    flows["clientCredentials"]["tokenUrl"] = "http://login.example/token"
    (tmp_path / "card.json").write_text(json.dumps(card))
    plain = await run("auth", "login", "card.json", **MACHINE)
    assert (plain.returncode, "not https" in plain.stderr) == (1, True)


LOGIN = "https://login.example/authorize?state=1"


async def reads_mail(request: AgentRequest):
    """Read mail."""
    hostile = "https://evil.example/\x1b[2J"
    answer = yield AuthRequired("Please log in.", [Data([{"url": LOGIN}, {"url": hostile}])])
    yield f"After {answer.text!r}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mail():
    async with running(build_app(reads_mail)) as url:
        yield url


@pytest.mark.parametrize("option", ["--quiet", "--verbose"])
async def test_send_shows_where_to_log_in_and_the_command_for_afterwards(mail, run, option):
    done = await run("send", mail, "read my mail", option)
    assert f"log in at {LOGIN}\n" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout
    command = done.stderr.split("afterwards: a2a-adapters ")[1]
    words = command.replace('"I have logged in."', "").split()
    assert command.endswith('"I have logged in."\n')
    after = await run(*words, "I have logged in.")
    assert after.stdout == "After 'I have logged in.'\n"


async def test_chat_goes_on_with_enter(mail, run):
    done = await run("chat", mail, text="read my mail\n\nread again\nNo, thanks\n\n")
    assert done.stderr.count(f"log in at {LOGIN}\n") == 2
    assert "press Enter when you have logged in" in done.stderr
    assert "After 'I have logged in.'" in done.stdout
    assert "After 'No, thanks'" in done.stdout
    assert "\x1b" not in done.stderr + done.stdout
