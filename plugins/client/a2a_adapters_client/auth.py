"""`a2a-adapters auth`: tokens of OAuth 2.0 and OpenID Connect (a2a-cli 0.2, section 12.2)."""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from a2a_adapters.cli.terminal import note
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.command import ClientCommand, client_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from a2a_adapters_oauth.discovery import Flow, LoginFlow
    from a2a_adapters_oauth.endpoints import Client

    from a2a_adapters_client.access import Access
    from a2a_adapters_client.oauth.device import DeviceCode
    from a2a_adapters_client.oauth.store import Login

# ruff: noqa: PLC0415 - as in `task`

auth = typer.Typer(help="Log in to agents.", no_args_is_help=True)

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="AGENT", show_default=False, autocompletion=complete_agent),
]


@auth.command(cls=ClientCommand)
@client_command()
def login(
    access: Access,
    words: Words = None,
    client_id: Annotated[
        str, typer.Option(help="Client id at the authorization server.", envvar="A2ACLI_CLIENT_ID")
    ] = "",
    client_secret: Annotated[
        str,
        typer.Option(
            help="Client secret, if any. Other users of this machine can read command lines: "
            "prefer the variable.",
            envvar="A2ACLI_CLIENT_SECRET",
            show_default=False,
        ),
    ] = "",
    scope: Annotated[
        list[str] | None, typer.Option(help="Scope to request, replacing the card's. Repeatable.")
    ] = None,
    flow: Annotated[
        Literal["authorization-code", "client-credentials", "device-code"] | None,
        typer.Option(
            help="Grant. Default: client-credentials with a secret, else authorization-code, in a "
            "browser on this machine, or device-code."
        ),
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            help="Authorization server to trust, HOST or HOST:PORT, if its address is private "
            "or not that of the login page."
        ),
    ] = None,
) -> None:
    """Get an OAuth token for an agent and store it for later commands.

    Examples:
      a2a-adapters auth login https://agent.example.com --client-id ID
      a2a-adapters auth login https://agent.example.com --client-id ID --flow device-code
    """
    access.take(words or [], most=0, secrets=["--client-secret"] if client_secret else [])
    if not client_id:
        raise ConfigurationError("name the client with --client-id or A2ACLI_CLIENT_ID")
    from a2a_adapters_oauth.endpoints import Client

    client = Client(client_id, client_secret)
    asyncio.run(_login(access, client, scope or [], flow, trust or []))


async def _login(
    access: Access,
    client: Client,
    scopes: Sequence[str],
    flow: Flow | None,
    trusted: Sequence[str],
) -> None:
    from dataclasses import replace

    import httpx
    from a2a_adapters_oauth.discovery import login_flows
    from a2a_adapters_oauth.endpoints import client_credentials_token

    from a2a_adapters import RemoteTimeoutError
    from a2a_adapters.calling.auth import wanted_credentials
    from a2a_adapters.calling.card import agent_url, parse_card
    from a2a_adapters.calling.http import make_client
    from a2a_adapters_client.connect import remote_options
    from a2a_adapters_client.credentials import Credentials
    from a2a_adapters_client.oauth.browser import BrowserLogin
    from a2a_adapters_client.oauth.device import DeviceLogin
    from a2a_adapters_client.oauth.store import Login, Store, origin_of
    from a2a_adapters_client.reference import find_card

    options = replace(remote_options(access), trusted_hosts=trusted)
    found = await find_card(access.agent_card, Credentials(access, options), options)
    card = parse_card(found.content, access.agent_card)
    url = found.url or agent_url(card.supported_interfaces[0].url)
    try:
        async with asyncio.timeout(access.timeout), make_client(url, options, None) as http:
            offered = [each async for each in login_flows(card, http)]
            chosen = _chosen(offered, flow, has_secret=bool(client.secret))
            if chosen is None:
                wanted = wanted_credentials(card) or "no credentials"
                raise ConfigurationError(
                    f"the card offers no {flow or 'OAuth'} login; it requires {wanted}"
                )
            chosen.check_server(trusted)
            note(f"logging in at {httpx.URL(chosen.token_url).host}, as named by the card")
            scope = " ".join(scopes or chosen.scopes)
            if chosen.flow == "client-credentials":
                token = await client_credentials_token(http, chosen.token_url, client, scope)
            elif chosen.flow == "authorization-code":
                token = await BrowserLogin(http, chosen, client, _open_page).token(scope)
            else:
                token = await DeviceLogin(http, chosen, client, _show_code).token(scope)
    except TimeoutError as error:
        raise RemoteTimeoutError("the login was not completed within the time limit") from error
    made = Login(
        flow=chosen.flow,
        client_id=client.id,
        client_secret=client.secret,
        token_url=chosen.token_url,
        refresh_url=chosen.refresh_url,
        scope=scope,
        access_token=token.access_token,
    ).renewed(token)
    origin, store = origin_of(url), Store()
    async with store.locked():
        store.write(origin, made)
    note(f"logged in at {origin}")
    _show(access, {origin: made})


def _chosen(
    offered: Sequence[LoginFlow], flow: Flow | None, *, has_secret: bool
) -> LoginFlow | None:
    """Return the requested flow, or the best match."""
    if flow is not None:
        return next((each for each in offered if each.flow == flow), None)
    order = ["device-code", "authorization-code", "client-credentials"]
    if sys.stderr.isatty() and not os.environ.get("SSH_CONNECTION"):
        order[:2] = reversed(order[:2])  # there is a browser on this machine
    if has_secret:
        order.insert(0, "client-credentials")
    return min(offered, key=lambda each: order.index(each.flow), default=None)


def _open_page(address: str) -> None:
    note(f"open {address}")
    if sys.stderr.isatty():
        typer.launch(address)


def _show_code(code: DeviceCode) -> None:
    note(f"open {code.verification_uri} and enter {code.user_code}")
    if code.verification_uri_complete:
        note(f"or open {code.verification_uri_complete}")


@auth.command(cls=ClientCommand)
@client_command()
def logout(access: Access, words: Words = None) -> None:
    """Delete the stored token for an agent; the server does not revoke it.

    Examples:
      a2a-adapters auth logout https://agent.example.com
      a2a-adapters auth logout -a https://agent.example.com
    """
    access.take(words or [], most=0)
    from a2a_adapters_client.oauth.store import origin_named

    origin = origin_named(access.agent_card)
    if not asyncio.run(_forget(origin)):
        raise ConfigurationError(f"not logged in at {origin}; list logins with `auth status`")
    note(f"logged out at {origin}")


async def _forget(origin: str) -> bool:
    from a2a_adapters_client.oauth.store import Store

    store = Store()
    async with store.locked():
        if origin not in store.read():
            return False
        store.write(origin, None)
    return True


@auth.command(cls=ClientCommand)
@client_command()
def status(access: Access, words: Words = None) -> None:
    """List logins and their expiry, without tokens.

    Examples:
      a2a-adapters auth status
      a2a-adapters auth status https://agent.example.com -o json
    """
    from a2a_adapters_client.oauth.store import Store, origin_named

    if words:
        access.take(words, most=0)
    logins = Store().read()
    if access.agent_card:
        origin = origin_named(access.agent_card)
        logins = {key: value for key, value in logins.items() if key == origin}
    _show(access, logins)


def _show(access: Access, logins: Mapping[str, Login]) -> None:
    from a2a_adapters_client.output import Output

    content = [
        {
            "origin": origin,
            "flow": login.flow,
            "clientId": login.client_id,
            "scope": login.scope,
            "expires": _time(login),
            "isRenewable": login.is_renewable,
        }
        for origin, login in logins.items()
    ]
    lines = [line for origin, login in logins.items() for line in _lines(origin, login)]
    Output(access).document(content, lines)
    if not content:
        note("no logins")


def _lines(origin: str, login: Login) -> Iterator[str]:
    from a2a_adapters_client.output import field

    yield field("Origin", origin)
    yield field("Flow", login.flow)
    yield field("Client-Id", login.client_id)
    yield field("Scope", login.scope)
    yield field("Expires", _time(login) or "unknown")
    yield field("Renewable", "yes" if login.is_renewable else "no")
    yield ""


def _time(login: Login) -> str | None:
    """Return the expiry of a token in UTC."""
    if login.expires_at is None:
        return None
    return datetime.fromtimestamp(login.expires_at, UTC).isoformat(timespec="seconds")
