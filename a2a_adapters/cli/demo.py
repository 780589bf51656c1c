"""`a2a-adapters demo-server`: an agent to practise on (a2a-cli 0.2, section 7.1)."""

from __future__ import annotations

from typing import Annotated

import typer

from a2a_adapters.cli.options import Verbose


def demo_server(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")
    ] = 8000,
    _verbose: Verbose = False,
) -> None:
    """Serve an agent to practise on, for this machine alone, until interrupted.

    It says what it is told. The word "ask" has it ask, "refuse" refuse, "draw" make a file and
    data, and "wait" work until it is cancelled. Nothing is kept.
    """
    # They cost a second that --help need not wait.
    from a2a_adapters.cli.practice import practice  # noqa: PLC0415
    from a2a_adapters.serving import server  # noqa: PLC0415

    server.serve(practice, port=port, storage="memory:")
