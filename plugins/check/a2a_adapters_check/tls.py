"""The option `--insecure` of commands that call agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.terminal import note

if TYPE_CHECKING:
    import ssl

Insecure = Annotated[
    bool, typer.Option("--insecure", help="Skip TLS verification. For development only.")
]


def unverified(*, sends_secrets: bool) -> ssl.SSLContext:
    """Return TLS settings that accept every certificate, and warn of them.

    Args:
        sends_secrets: Whether the command has credentials to send.
    """
    import ssl  # noqa: PLC0415 - `--help` needs none

    secret = ", and credentials may reach an impostor" if sends_secrets else ""
    note(f"WARNING: --insecure: certificates are not verified{secret}")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
