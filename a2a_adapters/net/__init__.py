"""Sockets and HTTP clients, and the policy for addresses that other parties choose."""

from __future__ import annotations

from a2a_adapters.net.dns import Resolver
from a2a_adapters.net.policy import OutboundPolicy

__all__ = ["OutboundPolicy", "Resolver"]
