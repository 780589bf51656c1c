"""How remote agents are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_adapters.outbound import OutboundPolicy

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["RemoteOptions"]

_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """Limits and choices for calling a remote agent. Times are in seconds.

    Attributes:
        timeout: How long the answer to one message may take; its task is cancelled then.
        connect_timeout: How long connecting may take.
        idle_timeout: How long an open stream may be silent, heartbeats included, before it
            counts as broken and is subscribed to again.
        retries: How often a request is sent again when the agent could not be connected to,
            or said that it is busy (HTTP 429 and 503). Nothing that may have been received
            is sent twice.
        answer_bytes: How large one answer may be, a stream as a whole.
        card_bytes: How large a card may be.
        outbound: Which hosts other than the agent's own a card may name.
        trusted_hosts: Hosts other than the agent's own that get its credentials, and to
            which `outbound` does not apply.
        progress: Whether steps and tool calls of the agent are asked for, if it offers them.
        accepted_output_modes: Media types the answer may have; empty for any.
        conversations: How many conversations are remembered.
    """

    timeout: float = 900
    connect_timeout: float = 10
    idle_timeout: float = 120
    retries: int = 3
    answer_bytes: int = 64 * _MEBIBYTE
    card_bytes: int = _MEBIBYTE
    outbound: OutboundPolicy = field(default_factory=OutboundPolicy)
    trusted_hosts: Collection[str] = ()
    progress: bool = False
    accepted_output_modes: Sequence[str] = ()
    conversations: int = 10_000
