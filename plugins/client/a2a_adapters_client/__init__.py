"""Commands for remote agents, following the a2a-cli specification 0.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__: list[str] = []


@hookimpl
def a2a_commands() -> Mapping[str, str]:
    """Return the commands for agents."""
    return {
        "chat": "a2a_adapters_client.chat:app",
        "send": "a2a_adapters_client.send:app",
        "discover": "a2a_adapters_client.discover:app",
        "agents": "a2a_adapters_client.agents:agents",
        "auth": "a2a_adapters_client.auth:auth",
        "card": "a2a_adapters_client.card:card",
        "history": "a2a_adapters_client.history:history",
        "task": "a2a_adapters_client.task:task",
        "demo-server": "a2a_adapters_client.demo:demo_server",
    }


@hookimpl
def a2a_settings() -> Sequence[tuple[str, str, str]]:
    """Return the variables that the commands read."""
    from a2a_adapters_client.access import client_settings  # noqa: PLC0415 - for `config` alone

    return list(client_settings())
