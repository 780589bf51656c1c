"""What may be asked for by `--transport` and `--a2a-version`: what this client speaks."""

from __future__ import annotations

import typer

from a2a_adapters.cli.options import nearest

_BINDINGS = {"jsonrpc": "JSONRPC", "http+json": "HTTP+JSON", "rest": "HTTP+JSON", "grpc": "GRPC"}
_SHOWN = ("jsonrpc", "http+json", "grpc")
_VERSIONS = ("1.0", "0.3")


def bindings(names: list[str] | None) -> list[str]:
    """Return what transports are called in the protocol.

    Raises:
        typer.BadParameter: There is none of a name.
    """
    for name in names or ():
        if name.lower() not in _BINDINGS:
            raise typer.BadParameter(f"there is no transport {name!r}; {nearest(name, _SHOWN)}")
    return [_BINDINGS[name.lower()] for name in names or ()]


def version(text: str) -> str:
    """Return a version of A2A as agents' cards begin it: `1`, `1.0` or `0.3`; "" is any 1.x.

    Raises:
        typer.BadParameter: It is one that is not spoken here.
    """
    short = ".".join(text.split(".")[:2])
    if short not in {"", "1", *_VERSIONS}:
        raise typer.BadParameter(f"A2A {text!r} is not spoken here; {nearest(text, _VERSIONS)}")
    return short
