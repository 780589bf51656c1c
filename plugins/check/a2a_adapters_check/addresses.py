"""Whether what the card names can be reached by those who read it, and safely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from a2a_adapters.net.addresses import Reach, reach
from a2a_adapters_check.interfaces import GRPC
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.interfaces import Interface
    from a2a_adapters_check.subject import Subject

_OWN_NAMES = ("localhost",)
_OWN_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_UNSPECIFIED = {"0.0.0.0", "::"}  # noqa: S104 - to be refused


def host_reach(host: str) -> Reach:
    """Tell who can be behind a host, by its form alone."""
    name = host.lower().rstrip(".")
    try:
        return reach(name.strip("[]"))
    except ValueError:
        is_own = name in _OWN_NAMES or name.endswith(_OWN_SUFFIXES) or "." not in name
        return Reach.PRIVATE if is_own else Reach.PUBLIC


def _url(interface: Interface) -> httpx.URL | None:
    text = interface.url.strip()
    if interface.binding == GRPC and "://" not in text:
        text = f"grpc://{text}"
    try:
        url = httpx.URL(text)
        host = url.host
    except (httpx.InvalidURL, UnicodeError, ValueError):
        return None
    known = {"http", "https"} | ({"grpc"} if interface.binding == GRPC else set())
    return url if host and url.scheme in known else None


@check(
    "address.form",
    Severity.ERROR,
    "Interfaces have absolute addresses",
    clause="A2A 1.0.1, 4.4.6",
    remedy="Write an absolute https address, as https://agents.example.org/.",
)
async def form(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of addresses that are none."""
    for each in subject.interfaces:
        if each.url and _url(each) is None:
            yield Fault(f"{each.url!r} is no absolute address", each.where)


@check(
    "address.credentials",
    Severity.ERROR,
    "Addresses hold no credentials",
    clause="A2A 1.0.1, 13.4",
    remedy="Take user and password out of the address; say how to log in by securitySchemes.",
)
async def credentials(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of passwords that everybody can read."""
    for each in subject.interfaces:
        url = _url(each)
        if url is not None and url.userinfo:
            yield Fault(f"the address of {each.binding} holds credentials", each.where)


@check(
    "address.https",
    Severity.ERROR,
    "Public addresses are encrypted",
    clause="A2A 1.0.1, 7.1",
    remedy="Serve the agent by TLS, and name https addresses.",
)
async def https(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of public addresses that are not encrypted."""
    if subject.url.scheme == "http" and host_reach(subject.url.host) is Reach.PUBLIC:
        yield Fault("the card itself is not encrypted", str(subject.url))
    for each in subject.interfaces:
        url = _url(each)
        if url is not None and url.scheme == "http" and host_reach(url.host) is Reach.PUBLIC:
            yield Fault(f"{each.url} is not encrypted", each.where)


@check(
    "address.routable",
    Severity.ERROR,
    "Everybody who reads the card can reach what it names",
    clause="A2A 1.0.1, 8.3.1",
    remedy="Name the public address: serve(url=...), --url, or what your server calls it.",
)
async def routable(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of addresses that mean something else, or nothing, to others."""
    is_public = host_reach(subject.url.host) is Reach.PUBLIC
    for each in subject.interfaces:
        url = _url(each)
        if url is None:
            continue
        kind = host_reach(url.host)
        if url.host.strip("[]") in _UNSPECIFIED:
            yield Fault(f"{each.url} is no address that can be called", each.where)
        elif kind is Reach.SPECIAL:
            yield Fault(f"{each.url} is an address that no agent should have", each.where)
        elif is_public and kind is Reach.PRIVATE:
            yield Fault(f"{each.url} is an address inside somebody's network", each.where)
