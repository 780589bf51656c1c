"""`a2a-adapters console`: the web page for agents elsewhere."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from a2a_adapters.cli.options import Verbose, read_parameters
from a2a_adapters.contract.errors import UnsafeHostError


def console(
    agents: Annotated[list[str], typer.Argument(metavar="AGENT...", show_default=False)],
    header: Annotated[
        list[str] | None, typer.Option(help="A header to send, as in 'X-API-Key: secret'.")
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")
    ] = 8001,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="How many seconds an answer may take.")
    ] = 900,
    allow_unauthenticated: Annotated[
        bool,
        typer.Option("--allow-unauthenticated", help="Let other machines use it, and the headers."),
    ] = False,
    _verbose: Verbose = False,
) -> None:
    """Show a page to talk with agents elsewhere, until interrupted."""
    # These cost a second that --help need not wait.
    from a2a_adapters_check.host import Host  # noqa: PLC0415

    from a2a_adapters import HeadersAuth, RemoteOptions  # noqa: PLC0415
    from a2a_adapters.net.addresses import is_loopback  # noqa: PLC0415
    from a2a_adapters_console.relay import RelayedAgent, build_relay, run  # noqa: PLC0415

    if not allow_unauthenticated and not is_loopback(host):
        raise UnsafeHostError(
            f"{host} lets other machines call these agents through this one: leave --host away, "
            "or pass --allow-unauthenticated"
        )
    headers = read_parameters(header or [])
    auth = HeadersAuth(headers) if headers else None
    relayed = []
    for typed in agents:
        named = Host(typed, auth, RemoteOptions(timeout=timeout))
        name = typed.rpartition("://")[2].rstrip("/")
        relayed.append(RelayedAgent(name, str(asyncio.run(named.agent())), named.address))
    run(build_relay(relayed, headers=headers, timeout=timeout), host, port)
