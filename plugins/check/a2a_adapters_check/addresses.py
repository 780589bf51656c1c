"""Checks of the URLs in the card: form, encryption, reachability."""

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
    """Return the reach of a host, judged by its form alone."""
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
    clause="A2A 1.0.1, 4.4.6",
    remedy="Write an absolute https URL such as https://agents.example.org/.",
)
async def form(subject: Subject) -> AsyncIterator[Fault]:
    """Interfaces have absolute URLs."""
    for each in subject.interfaces:
        if each.url and _url(each) is None:
            yield Fault(f"{each.url!r} is not an absolute URL", each.where)


@check(
    "address.credentials",
    Severity.ERROR,
    clause="A2A 1.0.1, 13.4",
    remedy="Remove user and password from the URL; describe authentication in securitySchemes.",
)
async def credentials(subject: Subject) -> AsyncIterator[Fault]:
    """URLs contain no credentials."""
    for each in subject.interfaces:
        url = _url(each)
        if url is not None and url.userinfo:
            yield Fault(f"the URL of {each.binding} contains credentials", each.where)


@check(
    "address.https",
    Severity.ERROR,
    clause="A2A 1.0.1, 7.1",
    remedy="Serve the agent over TLS and list https URLs.",
)
async def https(subject: Subject) -> AsyncIterator[Fault]:
    """Public URLs use TLS."""
    if subject.url.scheme == "http" and host_reach(subject.url.host) is Reach.PUBLIC:
        yield Fault("the card itself is served without TLS", str(subject.url))
    for each in subject.interfaces:
        url = _url(each)
        if url is not None and url.scheme == "http" and host_reach(url.host) is Reach.PUBLIC:
            yield Fault(f"{each.url} does not use TLS", each.where)


@check(
    "address.routable",
    Severity.ERROR,
    clause="A2A 1.0.1, 8.3.1",
    remedy="List the public URL: serve(url=...), --url, or the setting of your server.",
)
async def routable(subject: Subject) -> AsyncIterator[Fault]:
    """Every client can reach the URLs in the card."""
    is_public = host_reach(subject.url.host) is Reach.PUBLIC
    for each in subject.interfaces:
        url = _url(each)
        if url is None:
            continue
        kind = host_reach(url.host)
        if url.host.strip("[]") in _UNSPECIFIED:
            yield Fault(
                f"{each.url} is a wildcard address, not one that clients can call", each.where
            )
        elif kind is Reach.SPECIAL:
            yield Fault(f"{each.url} is a link-local or metadata address", each.where)
        elif is_public and kind is Reach.PRIVATE:
            yield Fault(f"{each.url} is a private address", each.where)
