"""The command `a2a-adapters check`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import typer

from a2a_adapters import RemoteAuthError
from a2a_adapters.cli.exits import FAILED, UNAUTHENTICATED, fail
from a2a_adapters.cli.options import Bearer, Proxy, Verbose, read_parameters
from a2a_adapters.cli.terminal import echo
from a2a_adapters_check.tls import Insecure, unverified

_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def check(
    url: Annotated[
        str, typer.Argument(help="URL of the agent or of its card.", show_default=False)
    ],
    send: Annotated[
        bool, typer.Option("--send", help="Also send messages, which the agent processes.")
    ] = False,
    output: Annotated[
        Literal["text", "json", "sarif", "junit"],
        typer.Option("--output", "-o", help="Format of the report."),
    ] = "text",
    header: Annotated[
        list[str] | None,
        typer.Option(help="Header to send, such as 'X-API-Key: secret'. Repeatable."),
    ] = None,
    bearer: Bearer = "",
    fail_on: Annotated[
        Literal["note", "warning", "error", "never"],
        typer.Option(help="Exit with 1 if a finding is at least this severe."),
    ] = "error",
    timeout: Annotated[
        float, typer.Option(min=1, max=600, help="Time limit for all checks, in seconds.")
    ] = 30,
    proxy: Proxy = None,
    insecure: Insecure = False,
    _verbose: Verbose = False,
) -> None:
    """Check whether an agent conforms to A2A and is secure, and suggest fixes.

    Examples:
      a2a-adapters check localhost:8000
      a2a-adapters check localhost:8000 --send --output junit > report.xml
    """
    # Importing the client takes a second, which --help must not wait for.
    from a2a_adapters import HeadersAuth, RemoteOptions  # noqa: PLC0415
    from a2a_adapters.calling.auth import Trust  # noqa: PLC0415
    from a2a_adapters.calling.card import agent_url  # noqa: PLC0415
    from a2a_adapters_check import Severity, render  # noqa: PLC0415
    from a2a_adapters_check import check as run  # noqa: PLC0415
    from a2a_adapters_check.host import Host  # noqa: PLC0415

    headers = read_parameters(header or [], bearer)
    auth = HeadersAuth(headers) if headers else None
    tls = unverified(sends_secrets=bool(headers)) if insecure else None
    host = Host(url, auth, RemoteOptions(timeout=timeout, proxy=proxy, tls=tls))
    try:
        address = asyncio.run(host.agent())
        is_own = Trust(agent_url(host.address), ()).gets_credentials(address)
        own = headers if is_own else {}
        checking = run(str(address), send=send, headers=own, timeout=timeout, proxy=proxy, tls=tls)
        report = asyncio.run(checking)
    except RemoteAuthError as error:
        fail(f"{error}; pass them with --bearer or --header", UNAUTHENTICATED)
    _print(render(report, output), coloured=output == "text")
    if not report.agent and (hint := asyncio.run(host.no_card("")).hint):
        echo(f"hint: {hint}", err=True)
    if fail_on != "never" and report.at_least(Severity(fail_on)):
        raise typer.Exit(FAILED)
    if fail_on != "never" and send and not report.is_answered:
        reason = report.skipped.get("send.answers", "it has no valid card")
        fail(f"the agent was sent no message: {reason}", FAILED)


conformance = typer.Typer()
conformance.command(hidden=True)(check)


def _print(report: str, *, coloured: bool) -> None:
    """Print a report; a terminal shows severities in colours."""
    colours = {f"{name:9}": colour for name, colour in _COLOURS.items()} if coloured else {}
    for line in report.split("\n"):
        if colour := colours.get(line[:9]):
            echo(line[:9], nl=False, fg=colour)
            line = line[9:]  # noqa: PLW2901 - the rest
        echo(line)
