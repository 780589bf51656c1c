"""`a2a-adapters demo-server`: an agent for practice (a2a-cli 0.2, section 7.1)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.options import Verbose  # noqa: TC001 - typer reads the annotations
from a2a_adapters.contract.adapter import AgentRequest  # noqa: TC001 - as does the adapter
from a2a_adapters.contract.events import InputRequired, Output, Rejected
from a2a_adapters.contract.parts import Data, File

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


def demo_server(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 8000,
    _verbose: Verbose = False,
) -> None:
    """Serve an agent for practice on this machine until interrupted.

    It repeats messages. The word "ask" makes it ask a question, "refuse" reject the task, "draw"
    return a file and data, and "wait" work until it is cancelled. Nothing is stored.

    Examples:
      a2a-adapters demo-server
      a2a-adapters demo-server --port 0
    """
    from a2a_adapters.serving import server  # noqa: PLC0415 - takes a second

    server.serve(practice, port=port, storage="memory:")


async def practice(
    request: AgentRequest,
) -> AsyncGenerator[str | InputRequired | Rejected | Output, AgentRequest]:
    """Repeat the message, and react to the words ask, refuse, draw and wait."""
    words = request.text.split()
    if "refuse" in words:
        yield Rejected("You told me to refuse.")
        return
    if "ask" in words:
        words = (yield InputRequired("What do you want to hear?")).text.split()
    for word in words:
        yield f"{word} "
    if "draw" in words:
        sky = File(content=b"* . *\n", media_type="text/plain", filename="sky.txt")
        yield Output([sky, Data({"stars": 2})])
    if "wait" in words:
        await asyncio.Event().wait()
