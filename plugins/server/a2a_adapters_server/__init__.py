"""The commands that serve agents: `serve`, its settings (`config`), and `init`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__: list[str] = []


@hookimpl(tryfirst=True)  # no other plugin replaces them
def a2a_commands() -> Mapping[str, str]:
    """Return the commands of a server's operator."""
    return {
        "serve": "a2a_adapters_server.serve:serve",
        "config": "a2a_adapters_server.config:config",
        "init": "a2a_adapters_server.init:init",
    }
