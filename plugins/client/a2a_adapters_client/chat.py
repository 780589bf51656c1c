"""`a2a-adapters chat`: a conversation with an agent in the terminal."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from a2a_adapters.cli.options import Verbose, read_parameters
from a2a_adapters.cli.terminal import echo, one_line


def chat(
    agent: Annotated[str, typer.Argument(metavar="URL|MODULE:ATTRIBUTE", show_default=False)],
    header: Annotated[
        list[str] | None, typer.Option(help="A header to send, as in 'X-API-Key: secret'.")
    ] = None,
    context: Annotated[str, typer.Option(help="The conversation to go on with.")] = "",
    save: Annotated[
        Path | None, typer.Option(help="The folder to save files of the answers in.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="How many seconds an answer may take.")
    ] = 900,
    _verbose: Verbose = False,
) -> None:
    """Talk with an agent, or with a target that is served for as long as that lasts."""
    # The client costs a second that --help need not wait.
    from a2a_adapters.cli.agents import as_url, is_address  # noqa: PLC0415
    from a2a_adapters_client.chatting import Chat, make_printer, make_reader  # noqa: PLC0415
    from a2a_adapters_client.conversation import find_agent  # noqa: PLC0415
    from a2a_adapters_client.local import served  # noqa: PLC0415

    with nullcontext(as_url(agent)) if is_address(agent) else served(agent) as address:
        reader, printer = make_reader(), make_printer(save)

        async def talk() -> int:
            found, about = await find_agent(address, read_parameters(header or []), timeout)
            if sys.stdin.isatty():
                echo(one_line(f"{about.name}: {about.description}"), err=True, bold=True)
                echo("/help tells what else can be typed", err=True, dim=True)
            chat = Chat(found, reader, printer, context)
            await chat.run()
            return chat.exit_code

        exit_code = asyncio.run(talk())
    if not sys.stdin.isatty():
        raise typer.Exit(exit_code)
