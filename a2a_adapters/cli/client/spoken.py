"""What may be asked for by `--transport` and `--a2a-version`: what this client speaks."""

from __future__ import annotations

import typer

from a2a_adapters.cli.nearest import nearest

BINDINGS = {"jsonrpc": "JSONRPC", "http+json": "HTTP+JSON", "rest": "HTTP+JSON", "grpc": "GRPC"}
"""The protocol's names of transports, by those that people type."""

_SHOWN = ("jsonrpc", "http+json", "grpc")
_VERSIONS = ("1.0", "0.3")


def binding(text: str) -> str:
    """Return a transport's name in the protocol.

    Raises:
        typer.BadParameter: There is none of that name.
    """
    found = BINDINGS.get(text.lower())
    if found is None:
        raise typer.BadParameter(f"there is no transport {text!r}; {nearest(text, _SHOWN)}")
    return found


def version(text: str) -> str:
    """Return a version of A2A as agents' cards begin it: `1`, `1.0` or `0.3`; "" is any 1.x.

    Raises:
        typer.BadParameter: It is one that is not spoken here.
    """
    short = ".".join(text.split(".")[:2])
    if short not in {"", "1", *_VERSIONS}:
        raise typer.BadParameter(f"A2A {text!r} is not spoken here; {nearest(text, _VERSIONS)}")
    return short
