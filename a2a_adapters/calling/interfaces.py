"""Which of an agent's interfaces is called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a.utils.constants import TransportProtocol

from a2a_adapters.calling.errors import RemoteAnswerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from a2a.types import AgentCard, AgentInterface

JSONRPC = TransportProtocol.JSONRPC.value
HTTP_JSON = TransportProtocol.HTTP_JSON.value
GRPC = TransportProtocol.GRPC.value
"""Only where it is asked for, or for agents that offer nothing else: it needs an extra."""

_RELEASE = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?(?:\.\d{1,9})*")
_CURRENT, _OLDEST = (1, 0), (0, 3)


def chosen(card: AgentCard, wanted: Sequence[str]) -> AgentInterface:
    """Return the interface that is called, as a2a-sdk's `ClientFactory` would choose it.

    Args:
        card: The agent's card, with its interfaces in the agent's order of preference.
        wanted: The bindings that the caller prefers to the agent's choice, the best one first.

    Raises:
        RemoteAnswerError: The agent offers none that is known here.
    """
    offered = [interface.protocol_binding for interface in card.supported_interfaces]
    preferred = [binding for binding in wanted if binding in offered]
    usual = [binding for binding in offered if binding in {JSONRPC, HTTP_JSON}]
    for binding in preferred or usual or [GRPC]:
        if found := _best(i for i in card.supported_interfaces if i.protocol_binding == binding):
            return found
    raise RemoteAnswerError(
        f"the agent offers {', '.join(sorted(set(offered)))}; "
        f"this client speaks {JSONRPC}, {HTTP_JSON} and {GRPC}"
    )


def _best(interfaces: Iterable[AgentInterface]) -> AgentInterface | None:
    """Return the one of A2A 1.0, or else of the next best version; None if all are too old."""
    ranked = [(rank, each) for each in interfaces if (rank := _rank(each.protocol_version))]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _rank(version: str) -> int:
    """Return 1 for the best version, more for those less good, 0 for one not spoken here."""
    if not version:
        return 4
    found = _RELEASE.fullmatch(version)
    release = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    if release < _OLDEST:
        return 0
    return 1 if release == _CURRENT else 2 if release > _CURRENT else 3
