"""Connections to addresses that somebody else has named."""

from __future__ import annotations

from a2a_adapters.net.policy import OutboundPolicy, Resolver

__all__ = ["OutboundPolicy", "Resolver"]
