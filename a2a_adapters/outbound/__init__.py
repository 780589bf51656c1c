"""Connections to addresses that somebody else has named."""

from __future__ import annotations

from a2a_adapters.outbound.policy import OutboundPolicy, Resolver

__all__ = ["OutboundPolicy", "Resolver"]
