"""HTTP connections to addresses that other parties choose."""

from __future__ import annotations

from a2a_adapters.net.policy import OutboundPolicy, Resolver

__all__ = ["OutboundPolicy", "Resolver"]
