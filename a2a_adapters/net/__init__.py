"""Addresses and listening sockets, and HTTP connections to where other parties say."""

from __future__ import annotations

from a2a_adapters.net.dns import Resolver
from a2a_adapters.net.policy import OutboundPolicy

__all__ = ["OutboundPolicy", "Resolver"]
