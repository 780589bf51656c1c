"""`a2a-adapters acp`: a remote agent for editors."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from a2a_adapters import MissingExtraError


def acp(
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    header: Annotated[
        list[str] | None,
        typer.Option(
            help="A header for the agent, as in 'X-API-Key: secret'; or, a header a line, in "
            "A2A_ADAPTERS_HEADER.",
        ),
    ] = None,
) -> None:
    """Offer an A2A agent to the editor that starts this command (Agent Client Protocol).

    Examples:
      a2a-adapters acp http://localhost:8000
      a2a-adapters acp https://agent.example.com --header 'X-API-Key: secret'
    """
    try:
        from a2a_adapters_acp.offering.stdio import answer_editor  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("a2a-adapters acp", "acp") from error
    answer_editor(url, header or os.environ.get("A2A_ADAPTERS_HEADER", "").splitlines())
