"""`a2a-adapters auth login` in a browser on this machine, played by an HTTP client."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import nullcontext
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import pytest_asyncio
from a2a.types import (
    AuthorizationCodeOAuthFlow,
    OAuth2SecurityScheme,
    OAuthFlows,
    SecurityScheme,
)
from a2a_adapters_client.oauth.browser import BrowserLogin
from a2a_adapters_oauth.discovery import LoginFlow
from a2a_adapters_oauth.endpoints import Client, OAuthError

from a2a_adapters import RemoteAuthError, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.client.authorization import AuthorizationServer
from tests.plugins.client.test_auth import Tokens
from tests.support.processes import Server
from tests.support.warm import warm

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]


class Pages(Tokens):
    """Announces the authorization code grant."""

    token_url = ""

    def security_schemes(self):
        flow = AuthorizationCodeOAuthFlow(
            authorization_url=f"{self.url}/authorize",
            token_url=self.token_url or f"{self.url}/token",
            scopes={"ask": "Ask."},
            pkce_required=True,
        )
        scheme = OAuth2SecurityScheme(flows=OAuthFlows(authorization_code=flow))
        return {"oauth": SecurityScheme(oauth2_security_scheme=scheme)}


@pytest_asyncio.fixture(loop_scope="module")
async def server():
    """Run an authorization server; its URL is `server.url`."""
    server = AuthorizationServer()
    async with running(server.app()) as server.url:
        yield server


def flow_at(server, issuer=""):
    urls = f"{server.url}/token", f"{server.url}/token", ""
    return LoginFlow("authorization-code", *urls, [], issuer, f"{server.url}/authorize?x=1")


class Browser:
    """Opens the pages that it is shown."""

    def __init__(self):
        self.address = ""
        self.answers = []
        self._tasks = []

    def __call__(self, address):
        self.address = address
        self._tasks.append(asyncio.create_task(self._open()))

    async def _open(self):
        async with httpx.AsyncClient(follow_redirects=True) as http:
            for address in await self.addresses(http):
                self.answers.append(await http.get(address))

    async def addresses(self, _http):
        return [self.address]


async def log_in(server, browser, issuer="", name="person"):
    async with httpx.AsyncClient() as http:
        return await BrowserLogin(http, flow_at(server, issuer), Client(name), browser).token("ask")


async def test_a_login_in_a_browser_is_stored_and_used(server, run, run_json, tmp_path):
    tokens = Pages(server, server.url, "")
    app = build_app(lambda text: f"You said {text}", options=ServerOptions(authentication=tokens))
    async with running(app) as url:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("A2ACLI_", "XDG_"))}
        environment = {**kept, "HOME": str(tmp_path), "A2ACLI_CLIENT_ID": "person"}
        command = warm("-m", "a2a_adapters", "auth", "login", url)
        process = await asyncio.to_thread(Server, command, environment)
        found = await asyncio.to_thread(process.said, r"^open (http\S+)$")
        async with httpx.AsyncClient(follow_redirects=True) as http:
            page = await http.get(found[1])
        log = await asyncio.to_thread(process.ended)
        assert (process.returncode, "You are logged in" in page.text) == (0, True), log
        assert "t0ken" not in log
        assert not re.search(r"c0de", log)
        assert "You said hi" in (await run("send", url, "hi")).stdout
        [about] = await run_json("auth", "status")
        assert (about["flow"], about["isRenewable"]) == ("authorization-code", True)


async def test_the_code_is_proven(server):
    browser = Browser()
    token = await log_in(server, browser)
    assert token.access_token in server.valid
    asked = parse_qs(urlsplit(browser.address).query)
    assert asked["x"] == ["1"], "a query of the endpoint is kept"
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["scope"] == ["ask"]
    assert asked["redirect_uri"][0].startswith("http://127.0.0.1:")


async def test_requests_of_others_do_not_end_the_wait(server):
    class Disturbed(Browser):
        async def addresses(self, http):
            back = parse_qs(urlsplit(self.address).query)["redirect_uri"][0]
            for target in (back, f"{back}?code=evil", f"{back}?code=evil&state=guess"):
                assert (await http.get(target)).status_code == 404
            assert (await http.post(f"{back}?code=evil")).status_code == 404
            host, port = urlsplit(back).hostname, urlsplit(back).port
            _, writer = await asyncio.open_connection(host, port)
            writer.write(b"nonsense\r\n\r\n")
            await writer.drain()
            writer.close()
            return [self.address]

    assert (await log_in(server, Disturbed())).access_token


@pytest.mark.parametrize(
    ("said", "issuer", "problem"),
    [
        ({"error": "access_denied"}, "", "was denied"),
        ({"error": "server_error", "error_description": "down\x1b[2J"}, "", "server_error"),
        ({}, "", "no code"),
        ({"code": "c0de-0", "iss": "https://evil.example"}, "https://login.example", "another"),
    ],
)
async def test_a_login_that_fails(server, said, issuer, problem):
    server.said = said or {"nothing": "x"}
    with pytest.raises(RemoteAuthError, match=problem) as raised:
        await log_in(server, Browser(), issuer)
    assert "\x1b" not in str(raised.value)


OTHER = "https://evil.example/token"


@pytest.mark.parametrize(
    ("endpoints", "issuer", "trusted", "is_safe"),
    [
        (("", ""), "", [], True),
        ((OTHER, ""), "", [], False),
        (("", OTHER), "", [], False),
        ((OTHER, OTHER), "https://evil.example", [], False),
        ((OTHER, OTHER), "https://login.example", [], True),
        ((OTHER, OTHER), "https://login.example.evil.example", [], False),
        ((OTHER, ""), "", ["evil.example"], True),
        (("https://login.example:8443/token", ""), "", [], False),
    ],
)
@pytest.mark.parametrize("flow", ["authorization-code", "device-code"])
async def test_a_card_cannot_send_the_code_of_one_server_to_another(
    flow, endpoints, issuer, trusted, is_safe
):
    token, refresh = (url or "https://login.example/token" for url in endpoints)
    page = "https://login.example/page"
    pages = ("", page) if flow == "authorization-code" else (page, "")
    offered = LoginFlow(flow, token, refresh, pages[0], [], issuer, pages[1])
    with nullcontext() if is_safe else pytest.raises(RemoteAuthError, match="--trust"):
        offered.check_server(trusted)


async def test_a_login_with_a_card_that_mixes_servers(server, run):
    async with running(AuthorizationServer().app()) as evil:
        tokens = Pages(server, server.url, "")
        tokens.token_url = f"{evil}/token"
        app = build_app(lambda text: text, options=ServerOptions(authentication=tokens))
        async with running(app) as url:
            done = await run("auth", "login", url, A2ACLI_CLIENT_ID="person")
    assert done.returncode == 4, done.stderr
    assert f"--trust {urlsplit(evil).netloc}" in done.stderr
    assert "open http" not in done.stderr


async def test_a_server_that_names_its_issuer_always_does(server):
    """Otherwise the code may be that of another server (RFC 9207, section 2.4)."""
    flow = replace(flow_at(server, "https://login.example"), names_issuer=True)
    async with httpx.AsyncClient() as http:
        login = BrowserLogin(http, flow, Client("person"), Browser())
        with pytest.raises(RemoteAuthError, match="another"):
            await login.token("ask")


async def test_a_code_of_another_client_is_refused(server):
    with pytest.raises(OAuthError, match="invalid_client"):
        await log_in(server, Browser(), name="nobody")
