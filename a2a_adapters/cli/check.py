"""`a2a-adapters check`: whether an agent is a good citizen, and what to mend."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import typer

from a2a_adapters.cli.addresses import as_url
from a2a_adapters.cli.client.parameters import read_parameters
from a2a_adapters.cli.exits import FAILED, TIMED_OUT, UNAUTHENTICATED, UNREACHABLE, fail
from a2a_adapters.cli.options import Verbose
from a2a_adapters.errors import RemoteAgentError, RemoteAuthError, RemoteTimeoutError


def check(
    url: Annotated[str, typer.Argument(help="The agent's URL, or its card's.", show_default=False)],
    send: Annotated[
        bool, typer.Option("--send", help="Send messages, too; the agent works on them.")
    ] = False,
    output: Annotated[
        Literal["text", "json", "sarif", "junit"],
        typer.Option("--output", "-o", help="How the report is printed."),
    ] = "text",
    header: Annotated[
        list[str] | None, typer.Option(help="A header to send, as in 'X-API-Key: secret'.")
    ] = None,
    fail_on: Annotated[
        Literal["note", "warning", "error", "never"],
        typer.Option(help="End with 1 if something is found that is so bad, or worse."),
    ] = "error",
    timeout: Annotated[
        float, typer.Option(min=1, max=600, help="How many seconds all may take.")
    ] = 30,
    _verbose: Verbose = False,
) -> None:
    """Check whether an agent keeps to A2A and is safe, and say what to mend."""
    # The client costs a second that --help need not wait.
    from a2a_adapters.checks import Severity, render  # noqa: PLC0415
    from a2a_adapters.checks import check as run  # noqa: PLC0415

    headers = read_parameters(header or [])
    try:
        report = asyncio.run(run(as_url(url), send=send, headers=headers, timeout=timeout))
    except RemoteAuthError as error:
        fail(f"{error}; --header sends some", UNAUTHENTICATED)
    except RemoteTimeoutError as error:
        fail(str(error), TIMED_OUT)
    except RemoteAgentError as error:
        fail(str(error), UNREACHABLE)
    typer.echo(render(report, output))
    if fail_on != "never" and report.at_least(Severity(fail_on)):
        raise typer.Exit(FAILED)
