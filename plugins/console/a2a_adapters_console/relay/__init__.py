"""The console for agents elsewhere: a server on one's own machine that passes on what is said."""

from __future__ import annotations

from a2a_adapters_console.relay.app import RelayedAgent, build_relay

__all__ = ["RelayedAgent", "build_relay"]
