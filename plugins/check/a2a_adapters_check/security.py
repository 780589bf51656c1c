"""Checks of authentication, CORS, and leaks in errors."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx

from a2a_adapters.net.addresses import Reach, is_loopback
from a2a_adapters_check.addresses import host_reach
from a2a_adapters_check.interfaces import EXTENDED, GET, LIST, RPC
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.operations import call
from a2a_adapters_check.report import Severity
from a2a_adapters_check.subject import is_refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.interfaces import Interface
    from a2a_adapters_check.operations import Outcome
    from a2a_adapters_check.subject import Subject

_STRANGER = "https://stranger.example"
_TRACE = re.compile(
    r"Traceback \(most recent call last\)|File \\?\"[^\"]{1,200}\\?\", line \d+"
    r"|^[ \t]+at [\w.$<>]+ ?\([^)]{1,200}:\d{1,9}(:\d{1,9})?\)"
    r"|\bat [\w.$]+\([\w]+\.(java|kt|scala):\d+\)"
    r"|goroutine \d+ \[|panicked at |\.(py|js|ts|go|rs|java|cs):\d+(:\d+)?\b",
    re.MULTILINE,
)
_PATH = re.compile(
    r"(?<![\w/.:])/(home|root|usr|var|opt|app|srv|etc|tmp|Users|workspace|mnt)/[\w.-]+(/[\w.-]+)*"
    r"|\b[A-Z]:\\\\?(Users|Windows|Program Files|inetpub)"
)


def asks_for_credentials(card: dict[str, Any]) -> bool:
    """Return whether a card requires credentials (A2A 1.0, section 4.5)."""
    for name in ("securityRequirements", "security"):
        listed = card.get(name)
        if isinstance(listed, list) and listed:
            return all(isinstance(each, dict) and each.get("schemes", each) for each in listed)
    return False


@check(
    "security.scheme",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.5",
    remedy="Describe every scheme of securityRequirements in securitySchemes.",
)
async def schemes(subject: Subject) -> AsyncIterator[Fault]:
    """All required security schemes are described."""
    described = subject.card.get("securitySchemes")
    described = described if isinstance(described, dict) else {}
    for key, scheme in described.items():
        if isinstance(scheme, dict) and not (scheme.keys() & _SCHEMES or scheme.get("type")):
            yield Fault(f"the scheme {key!r} has an unknown type", f"/securitySchemes/{key}")
        location = scheme.get("apiKeySecurityScheme") if isinstance(scheme, dict) else None
        place = location.get("location") if isinstance(location, dict) else None
        if isinstance(place, str) and place not in {"header", "query", "cookie"}:
            yield Fault(f"an API key cannot be in the {place!r}", f"/securitySchemes/{key}")
    for name, where in _required_schemes(subject.card):
        if name not in described:
            yield Fault(f"the scheme {name!r} is required but not described", where)


_SCHEMES = {
    "apiKeySecurityScheme",
    "httpAuthSecurityScheme",
    "oauth2SecurityScheme",
    "openIdConnectSecurityScheme",
    "mtlsSecurityScheme",
}


def _required_schemes(card: dict[str, Any]) -> list[tuple[str, str]]:
    found = []
    for field in ("securityRequirements", "security"):
        listed = card.get(field)
        for index, each in enumerate(listed if isinstance(listed, list) else []):
            names = each.get("schemes", each) if isinstance(each, dict) else None
            if isinstance(names, dict):
                found += [(str(name), f"/{field}/{index}") for name in names]
    return found


@check(
    "security.anonymous",
    Severity.ERROR,
    clause="A2A 1.0.1, 7.4",
    remedy="Verify credentials on every interface and operation.",
)
async def anonymous(subject: Subject) -> AsyncIterator[Fault]:
    """Requests without the required credentials are refused."""
    if not asks_for_credentials(subject.card):
        return
    for each in await subject.reachable():
        reply = await _anonymously(subject, each)
        if reply.speaks and not is_refused(reply):
            yield Fault(f"{each.name} answers without credentials: {reply.summary}", each.where)


@check(
    "security.wrong-credentials",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.3.2",
    remedy="Verify credentials instead of only requiring some.",
)
async def wrong_credentials(subject: Subject) -> AsyncIterator[Fault]:
    """Invalid credentials are refused."""
    if not asks_for_credentials(subject.card):
        return
    made_up = _made_up(subject.card)
    for each in await subject.reachable() if made_up else ():
        before = await _anonymously(subject, each)
        reply = await call(
            subject.http,
            each,
            GET,
            {"id": await subject.unknown_id()},
            headers=made_up,
            anonymous=True,
        )
        if is_refused(before) and reply.speaks and not is_refused(reply):
            yield Fault(f"{each.name} accepts invalid credentials", each.where)


def _made_up(card: dict[str, Any]) -> dict[str, str]:
    """Return headers with invalid credentials of the kinds that a card requires."""
    found = {}
    described = card.get("securitySchemes")
    for scheme in described.values() if isinstance(described, dict) else ():
        if not isinstance(scheme, dict):
            continue
        key = scheme.get("apiKeySecurityScheme")
        if isinstance(key, dict) and key.get("location") == "header":
            name = str(key.get("name", ""))
            if re.fullmatch(r"[\w-]{1,60}", name, re.ASCII):
                found[name] = "made-up-by-a2a-adapters-check"
        else:
            found["Authorization"] = "Bearer made-up-by-a2a-adapters-check"
    return found


@check(
    "security.challenge",
    Severity.WARNING,
    clause="A2A 1.0.1, 7.4, and RFC 9110, 15.5.2",
    remedy="Send WWW-Authenticate with every 401.",
)
async def challenge(subject: Subject) -> AsyncIterator[Fault]:
    """Unauthenticated clients learn which credentials they need."""
    for each in await subject.reachable():
        answer = (await _anonymously(subject, each)).answer
        if answer.status == 401 and not answer.headers.get("www-authenticate"):
            yield Fault(f"{each.name} answers 401 without WWW-Authenticate", each.where)


@check(
    "security.undeclared",
    Severity.ERROR,
    clause="A2A 1.0.1, 7.3",
    remedy="Declare securitySchemes and securityRequirements in the card.",
)
async def undeclared(subject: Subject) -> AsyncIterator[Fault]:
    """The card declares the credentials that are required."""
    if asks_for_credentials(subject.card) or subject.card.get("securitySchemes"):
        return
    for each in await subject.reachable():
        reply = await _anonymously(subject, each)
        if is_refused(reply):
            yield Fault(
                f"{each.name} requires credentials that the card does not declare", each.where
            )


@check(
    "security.extended-card",
    Severity.ERROR,
    clause="A2A 1.0.1, 13.3",
    remedy="Require credentials for GetExtendedAgentCard.",
)
async def extended_card(subject: Subject) -> AsyncIterator[Fault]:
    """The extended card requires credentials."""
    if not subject.declares("extendedAgentCard"):
        return
    for each in await subject.reachable():
        if not each.is_old:
            reply = await call(subject.http, each, EXTENDED, {}, anonymous=True)
            if isinstance(reply.result, dict) and reply.result.get("name"):
                yield Fault(
                    f"{each.name} returns the extended card without credentials", each.where
                )


@check(
    "security.cors",
    Severity.ERROR,
    clause="WHATWG Fetch, 3.3.6",
    remedy="Allow known origins only, or omit Access-Control-Allow-Credentials.",
)
async def cors(subject: Subject) -> AsyncIterator[Fault]:
    """Web pages of other origins cannot use a reader's credentials."""
    asked = {"Origin": _STRANGER, "Access-Control-Request-Method": "POST"}
    addresses = [(subject.card_url, "GET")] + [
        (each.url, "OPTIONS") for each in await subject.reachable() if each.binding == RPC
    ]
    for url, method in addresses:
        answer = await subject.http.ask(method, url, headers=asked, anonymous=True)
        origin = answer.headers.get("access-control-allow-origin", "")
        is_credentialed = answer.headers.get("access-control-allow-credentials", "") == "true"
        if is_credentialed and origin in {_STRANGER, "*", "null"}:
            yield Fault(f"pages of any origin may call {url} with their readers' cookies", url)


@check(
    "security.trace",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.3.2 and 13.4",
    remedy="Log the exception; send the caller a message without internals.",
)
async def trace(subject: Subject) -> AsyncIterator[Fault]:
    """Errors contain no stack traces."""
    for reply, each in await _errors(subject):
        if _TRACE.search(reply.answer.text):
            yield Fault(f"an error of {each.name} contains a stack trace", each.where)


@check(
    "security.path",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.3.2 and 13.4",
    remedy="Log the exception; send the caller a message without internals.",
)
async def path(subject: Subject) -> AsyncIterator[Fault]:
    """Errors contain no server paths."""
    for reply, each in await _errors(subject):
        if not _TRACE.search(reply.answer.text) and (found := _PATH.search(reply.answer.text)):
            yield Fault(f"an error of {each.name} contains the path {found[0]}", each.where)


@check(
    "security.plain",
    Severity.WARNING,
    clause="A2A 1.0.1, 7.1",
    remedy="Serve agents with credentials over TLS in private networks as well.",
)
async def plain(subject: Subject) -> AsyncIterator[Fault]:
    """Credentials are not sent in plain text over a network."""
    if not asks_for_credentials(subject.card):
        return
    for each in subject.interfaces:
        with suppress(httpx.InvalidURL, UnicodeError):
            url = httpx.URL(each.url)
            is_private = host_reach(url.host) is Reach.PRIVATE and not is_loopback(url.host)
            if url.scheme == "http" and is_private:
                yield Fault(f"{each.url} gets credentials without TLS", each.where)


@check(
    "security.rebinding",
    Severity.WARNING,
    clause="RFC 9110, 7.4",
    remedy="Refuse requests whose Host or Origin is not this machine, or require credentials.",
)
async def rebinding(subject: Subject) -> AsyncIterator[Fault]:
    """Web pages cannot use an agent on their reader's machine."""
    if asks_for_credentials(subject.card) or not is_loopback(subject.url.host):
        return
    page = {"Host": "stranger.example", "Origin": _STRANGER}
    for each in await subject.reachable():
        params = {"id": await subject.unknown_id()}
        reply = await call(subject.http, each, GET, params, headers=page, anonymous=True)
        if reply.speaks and reply.answer.status in {200, 404}:
            yield Fault(f"{each.name} answers pages of other sites (DNS rebinding)", each.where)


@check(
    "security.hsts",
    Severity.NOTE,
    clause="A2A 1.0.1, 13.4",
    remedy="Send Strict-Transport-Security; the TLS proxy can add it.",
)
async def hsts(subject: Subject) -> AsyncIterator[Fault]:
    """Browsers are limited to https."""
    is_public = host_reach(subject.url.host) is Reach.PUBLIC
    header = subject.card_answer.headers.get("strict-transport-security")
    if subject.url.scheme == "https" and is_public and not header:
        yield Fault("the card is sent without Strict-Transport-Security", subject.card_url)


async def _anonymously(subject: Subject, interface: Interface) -> Outcome:
    """Ask an interface for an unknown task without credentials."""

    async def ask() -> Outcome:
        params = {"id": await subject.unknown_id()}
        return await call(subject.http, interface, GET, params, anonymous=True)

    return await subject.once(("anonymous", interface), ask)


async def _errors(subject: Subject) -> list[tuple[Outcome, Interface]]:
    """Return the outcomes of invalid requests, with their interfaces."""

    async def ask() -> list[tuple[Outcome, Interface]]:
        found = []
        for each in await subject.reachable():
            found.append((await subject.unknown_task(each), each))
            odd = [(GET, {"id": "../../etc/passwd\x00'\""}), (LIST, {"pageSize": "x" * 50})]
            for operation, params in odd if not each.is_old else odd[:1]:
                found.append((await call(subject.http, each, operation, params), each))
            broken = await subject.broken(each)
            found.append((broken, each))
        return found

    return await subject.once("errors", ask)
