"""The interfaces of an agent's card: which one to call, its address and its version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a.utils.constants import TransportProtocol

from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.contract.text import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import httpx
    from a2a.types import AgentCard, AgentInterface

JSONRPC = TransportProtocol.JSONRPC.value
HTTP_JSON = TransportProtocol.HTTP_JSON.value
GRPC = TransportProtocol.GRPC.value
"""Used only if preferred, or if the agent offers nothing else, because it needs an extra."""

_RELEASE = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?(?:\.\d{1,9})*")
_CURRENT, _OLDEST = (1, 0), (0, 2)
_RANK_OF_0_2 = 5
_OPTIONAL_MODES = (0, 3)
"""The first version whose messages need not say which media types are accepted."""

_WILDCARD = re.compile(r"([a-z][a-z0-9+.-]*://)?(?:0\.0\.0\.0|\[::\])(?=[:/?#]|$)", re.IGNORECASE)


def choose_interface(card: AgentCard, wanted: Sequence[str]) -> AgentInterface:
    """Choose the interface to call, as a2a-sdk's `ClientFactory` would.

    Args:
        card: The agent's card, with its interfaces in the agent's order of preference.
        wanted: The caller's preferred bindings, best first; they override the agent's order.

    Raises:
        RemoteAnswerError: The agent offers no supported interface.
    """
    # Those of 0.2 only if there is nothing newer.
    newer = [i for i in card.supported_interfaces if 0 < _rank(i.protocol_version) < _RANK_OF_0_2]
    every = newer or card.supported_interfaces
    known = {interface.protocol_binding for interface in every}
    listed = [interface.protocol_binding for interface in card.supported_interfaces]
    offered = [binding for binding in listed if binding in known]
    shown = {
        f"{i.protocol_binding} {i.protocol_version}".strip() for i in card.supported_interfaces
    }
    preferred = [binding for binding in wanted if binding in offered]
    usual = [binding for binding in offered if binding in {JSONRPC, HTTP_JSON}]
    for binding in preferred or usual or [GRPC]:
        if found := _best(i for i in every if i.protocol_binding == binding):
            return found
    raise RemoteAnswerError(
        f"the agent offers {quote(', '.join(sorted(shown)))}; this client speaks {JSONRPC}, "
        f"{HTTP_JSON} and {GRPC} of A2A 0.2 and later"
    )


def _best(interfaces: Iterable[AgentInterface]) -> AgentInterface | None:
    """Return the interface with the best version, or None if all versions are too old."""
    ranked = [(rank, each) for each in interfaces if (rank := _rank(each.protocol_version))]
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _rank(version: str) -> int:
    """Return 1 for the best version (1.0), more for worse ones, and 0 if it is not supported."""
    if not version:
        return 4
    release = _release(version)
    if release < _OLDEST:
        return 0
    if release < _OPTIONAL_MODES:
        return _RANK_OF_0_2
    return 1 if release == _CURRENT else 2 if release > _CURRENT else 3


def _release(version: str) -> tuple[int, int]:
    """Return the major and minor number of a version; 1.0 if it is unknown."""
    if not version:
        return _CURRENT
    found = _RELEASE.fullmatch(version)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def is_old(card: AgentCard, url: str) -> bool:
    """Return whether an interface supports A2A 0.3 or 0.2 and nothing newer."""
    versions = [i.protocol_version for i in card.supported_interfaces if i.url == url]
    return any(versions) and all(is_old_version(version) for version in versions if version)


def has_to_accept_modes(interface: AgentInterface) -> bool:
    """Return whether messages have to say which media types are accepted."""
    return _release(interface.protocol_version) < _OPTIONAL_MODES


def is_old_version(version: str) -> bool:
    """Return whether a version is called in the same way as 0.3."""
    return _OLDEST <= _release(version) < _CURRENT


def at_asked_host(card: AgentCard, asked: httpx.URL) -> AgentCard:
    """Return a card with complete addresses: of the asked host for paths and wildcard addresses.

    Addresses without a scheme get that of the requested host, except for gRPC.
    """
    addresses = [_complete(each, asked) for each in card.supported_interfaces]
    if addresses == [each.url for each in card.supported_interfaces]:
        return card
    called = type(card)()
    called.CopyFrom(card)
    for each, address in zip(called.supported_interfaces, addresses, strict=True):
        each.url = address
    return called


def _complete(interface: AgentInterface, asked: httpx.URL) -> str:
    host = f"[{asked.host}]" if ":" in asked.host else asked.host
    url = _WILDCARD.sub(lambda found: f"{found[1] or ''}{host}", interface.url, count=1)
    if interface.protocol_binding == GRPC or "://" in url:
        return url
    if url.startswith("/") and not url.startswith("//"):
        return str(asked.copy_with(raw_path=url.encode("ascii", "replace"), fragment=None))
    return f"{asked.scheme}://{url.removeprefix('//')}"
