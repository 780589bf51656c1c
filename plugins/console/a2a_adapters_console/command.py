"""`a2a-adapters console`: the web page for remote agents."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from a2a_adapters_check.tls import Insecure, unverified

from a2a_adapters.cli.options import Bearer, Verbose, read_parameters
from a2a_adapters.contract.errors import UnsafeHostError


def console(
    agents: Annotated[list[str], typer.Argument(metavar="AGENT...", show_default=False)],
    header: Annotated[
        list[str] | None,
        typer.Option(help="Header to send, such as 'X-API-Key: secret'. Repeatable."),
    ] = None,
    bearer: Bearer = "",
    host: Annotated[str, typer.Option(help="Host to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8001,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Time limit for an answer, in seconds.")
    ] = 900,
    allow_unauthenticated: Annotated[
        bool,
        typer.Option(
            "--allow-unauthenticated", help="Let other machines use the console and its headers."
        ),
    ] = False,
    insecure: Insecure = False,
    _verbose: Verbose = False,
) -> None:
    """Serve a web page for talking to remote agents, until interrupted.

    Examples:
      a2a-adapters console localhost:8000
      a2a-adapters console https://a.example.com https://b.example.com
    """
    # Importing these takes a second, which --help must not wait for.
    from a2a_adapters_check.host import Host  # noqa: PLC0415

    from a2a_adapters import HeadersAuth, RemoteOptions  # noqa: PLC0415
    from a2a_adapters.net.addresses import is_loopback  # noqa: PLC0415
    from a2a_adapters_console.relay import RelayedAgent, build_relay, run  # noqa: PLC0415

    if not allow_unauthenticated and not is_loopback(host):
        raise UnsafeHostError(
            f"with --host {host}, other machines can call these agents through this one: "
            "omit --host or pass --allow-unauthenticated"
        )
    headers = read_parameters(header or [], bearer)
    auth = HeadersAuth(headers) if headers else None
    tls = unverified(sends_secrets=bool(headers)) if insecure else None
    relayed = []
    for typed in agents:
        named = Host(typed, auth, RemoteOptions(timeout=timeout, tls=tls))
        name = typed.rpartition("://")[2].rstrip("/")
        relayed.append(RelayedAgent(name, str(asyncio.run(named.agent())), named.address))
    run(build_relay(relayed, headers=headers, timeout=timeout, tls=tls), host, port)
