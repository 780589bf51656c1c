"""Checks of the card itself: its location, format, and required fields (A2A 1.0)."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from a2a.types import AgentCard

from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters_check.interfaces import GRPC, REST, RPC, listed
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity
from a2a_adapters_check.schema import missing, wrong

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from a2a_adapters_check.subject import Subject

_VERSION = re.compile(r"\d{1,4}\.\d{1,4}")

_MEDIA_TYPE = re.compile(
    r"(\*|[\w!#$&^.+-]{1,127})/(\*|[\w!#$&^.+-]{1,127})(\s*;\s*[\w!#$&^.+-]+=(\"[^\"]*\"|[^;\s\"]+))*",
    re.ASCII,
)

_URI_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:\S+", re.IGNORECASE)

_LARGE = 128 * 1024


@check(
    "card.found",
    Severity.ERROR,
    clause="A2A 1.0.1, 8.2",
    remedy="Answer GET /.well-known/agent-card.json with HTTP 200 and the card, without redirects.",
    needs_card=False,
)
async def found(subject: Subject) -> AsyncIterator[Fault]:
    """The card is where clients look for it."""
    answer = subject.card_answer
    if answer.failure:
        yield Fault(f"the card cannot be read: {answer.failure}", subject.card_url)
    elif 300 <= answer.status < 400:
        target = answer.headers.get("location", "elsewhere")
        yield Fault(f"the card's URL redirects to {target}", subject.card_url)
    elif answer.status != 200:
        yield Fault(f"the card's URL answers with HTTP {answer.status}", subject.card_url)
    elif subject.card_url.endswith(WELL_KNOWN_PATHS[1]):
        message = f"the card is only at the path used before A2A 0.3, {WELL_KNOWN_PATHS[1]}"
        yield Fault(message, subject.card_url, Severity.WARNING)


@check(
    "card.json",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.4.1",
    remedy="Serve the card as one JSON object in UTF-8.",
    needs_card=False,
)
async def is_json(subject: Subject) -> AsyncIterator[Fault]:
    """The card is a JSON object."""
    answer = subject.card_answer
    if answer.status == 200 and not isinstance(answer.json, dict):
        yield Fault("the card is not a JSON object", subject.card_url)


@check(
    "card.media-type",
    Severity.WARNING,
    clause="A2A 1.0.1, 8.2",
    remedy="Send the card with Content-Type: application/json.",
)
async def comes_as_json(subject: Subject) -> AsyncIterator[Fault]:
    """The card is served as application/json."""
    kind = subject.card_answer.media_type
    if kind != "application/json" and not (
        kind.startswith("application/") and kind.endswith("+json")
    ):
        yield Fault(f"the card is served as {kind or 'no media type'}", subject.card_url)


@check(
    "card.size",
    Severity.WARNING,
    clause="A2A 1.0.1, 13.4",
    remedy="Keep the card below 128 KiB; move long texts behind documentationUrl.",
)
async def is_small(subject: Subject) -> AsyncIterator[Fault]:
    """The card is small enough for every client."""
    size = len(subject.card_answer.content)
    if size > _LARGE:
        yield Fault(f"the card has {size:,} bytes", subject.card_url)


@check(
    "card.required",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.4.1 and 5.7",
    remedy="Fill in the field; lists need at least one element, strings at least one character.",
)
async def required(subject: Subject) -> AsyncIterator[Fault]:
    """All required fields of the card are present."""
    if subject.is_current:
        for where in missing(subject.card, AgentCard.DESCRIPTOR):
            yield Fault(f"the required field {_name(where)} is missing or empty", where)


@check(
    "card.type",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.4.1",
    remedy="Give the field the type required by the specification.",
)
async def types(subject: Subject) -> AsyncIterator[Fault]:
    """All fields of the card have the right type."""
    if subject.is_current:
        for where, expected in wrong(subject.card, AgentCard.DESCRIPTOR):
            yield Fault(f"{_name(where)} should be {expected}", where)


@check(
    "card.interface-version",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.6",
    remedy='Write "1.0" or "0.3", without a patch number.',
)
async def interface_versions(subject: Subject) -> AsyncIterator[Fault]:
    """Interfaces give the protocol version as Major.Minor."""
    for each in subject.interfaces if subject.is_current else ():
        if each.version and not _VERSION.fullmatch(each.version):
            where = f"{each.where}/protocolVersion"
            yield Fault(f"the protocol version {each.version!r} is not Major.Minor", where)


@check(
    "card.interface-binding",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.4.6 and 5.8",
    remedy="Write JSONRPC, HTTP+JSON or GRPC, or the URI of a custom binding.",
)
async def interface_bindings(subject: Subject) -> AsyncIterator[Fault]:
    """Interfaces name a known binding."""
    for each in subject.interfaces:
        known = each.binding in {RPC, REST, GRPC} or _URI_SCHEME.fullmatch(each.binding)
        if each.binding and not known:
            yield Fault(f"{each.binding!r} is neither an A2A binding nor a URI", each.where)


@check(
    "card.interface-twice",
    Severity.WARNING,
    clause="A2A 1.0.1, 8.3.1",
    remedy="Remove the duplicates.",
)
async def interfaces_once(subject: Subject) -> AsyncIterator[Fault]:
    """Interfaces are listed once."""
    seen = set()
    for each in subject.interfaces:
        key = (each.url.rstrip("/"), each.binding, each.version, each.tenant)
        if key in seen:
            yield Fault(f"{each.name} is listed twice", each.where)
        seen.add(key)


@check(
    "card.skill-id",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.4.5",
    remedy="Give each skill a unique id.",
)
async def skill_ids(subject: Subject) -> AsyncIterator[Fault]:
    """Skill ids are unique."""
    ids = Counter(str(skill.get("id")) for skill, _ in skills(subject.card) if skill.get("id"))
    for name, count in ids.items():
        if count > 1:
            yield Fault(f"{count} skills have the id {name!r}", "/skills")


@check(
    "card.media-types",
    Severity.WARNING,
    clause="A2A 1.0.1, 4.4.1 and 4.4.5",
    remedy="Write media types such as text/plain or application/json.",
)
async def modes(subject: Subject) -> AsyncIterator[Fault]:
    """Input and output modes are media types."""
    holders = [(subject.card, "", ("defaultInputModes", "defaultOutputModes"))]
    holders += [(skill, at, ("inputModes", "outputModes")) for skill, at in skills(subject.card)]
    for holder, at, names in holders:
        for name in names:
            for index, mode in enumerate(listed(holder.get(name))):
                if isinstance(mode, str) and not _MEDIA_TYPE.fullmatch(mode):
                    yield Fault(f"{mode!r} is not a media type", f"{at}/{name}/{index}")


@check(
    "card.link",
    Severity.WARNING,
    clause="A2A 1.0.1, 4.4.1 and 4.4.2",
    remedy="Write an absolute https URL, or leave the field out.",
)
async def links(subject: Subject) -> AsyncIterator[Fault]:
    """Links in the card lead to web pages."""
    provider = subject.card.get("provider")
    found = {
        "/documentationUrl": subject.card.get("documentationUrl"),
        "/iconUrl": subject.card.get("iconUrl"),
        "/provider/url": provider.get("url") if isinstance(provider, dict) else None,
    }
    for where, url in found.items():
        if isinstance(url, str) and url and not _is_link(url):
            yield Fault(f"{url!r} is not the URL of a web page", where)


@check(
    "card.extension",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.4.4 and 4.6.1",
    remedy="Give each extension its own URI, and list it once.",
)
async def extensions(subject: Subject) -> AsyncIterator[Fault]:
    """Every extension has its own URI."""
    capabilities = subject.card.get("capabilities")
    named = listed(capabilities.get("extensions")) if isinstance(capabilities, dict) else []
    seen = set()
    for index, extension in enumerate(named):
        uri = extension.get("uri") if isinstance(extension, dict) else None
        where = f"/capabilities/extensions/{index}"
        if not isinstance(uri, str) or not _URI_SCHEME.fullmatch(uri):
            yield Fault(f"the extension's uri {uri!r} is not a URI", where)
        elif uri in seen:
            yield Fault(f"the extension {uri} is listed twice", where)
        seen.add(str(uri))


def skills(card: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the skills of a card that are objects, each with its JSON pointer."""
    for index, skill in enumerate(listed(card.get("skills"))):
        if isinstance(skill, dict):
            yield skill, f"/skills/{index}"


def _is_link(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return False


def _name(where: str) -> str:
    return where.rpartition("/")[2] or "the card"
