"""Fetches and parses a remote agent's card, which is untrusted input."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

import httpx
from a2a.client.card_resolver import parse_agent_card
from a2a.client.errors import A2AClientError
from a2a.types import SecurityScheme
from a2a.utils.constants import TransportProtocol
from google.protobuf.json_format import ParseError
from pydantic_core import from_json

from a2a_adapters.calling.errors import (
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteTimeoutError,
)
from a2a_adapters.calling.failures import UNAUTHORIZED, reason_of
from a2a_adapters.calling.http import get
from a2a_adapters.contract.card import AgentDescription, Skill
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.parts import Data
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.contract.text import as_text, quote
from a2a_adapters.protocol.card import WELL_KNOWN_PATHS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from a2a.types import AgentCard

    from a2a_adapters.calling.options import RemoteOptions

_CARD_SECONDS = 30.0
_LAST_PORT = 65535
_NAME_LENGTH = 100
_TEXT_LENGTH = 1_000
_SKILLS = 50
_REASON_LENGTH = 200
_SHOWN_LENGTH = 60
_INTERFACES = "supportedInterfaces"
_BINDINGS = [each.value for each in TransportProtocol]
"""The known bindings, the default of A2A 0.3 first."""


def agent_url(url: str) -> httpx.URL:
    """Parse the address of an agent or of its card.

    Raises:
        ConfigurationError: It is not an HTTP URL, or it contains credentials.
    """
    if not isinstance(url, str):
        raise ConfigurationError(f"an agent is a URL or an AgentCard, not {url!r}")
    try:
        parsed = httpx.URL(url.strip())
        is_reachable = parsed.host and (parsed.port or 0) <= _LAST_PORT
    except (httpx.InvalidURL, UnicodeError) as error:  # UnicodeError: international names
        raise ConfigurationError(f"{url!r} is not a URL") from error
    if parsed.scheme not in {"http", "https"} or not is_reachable:
        raise ConfigurationError(f"{url!r} is not of the form http://host:port or https://host")
    if parsed.userinfo:
        raise ConfigurationError("credentials go into auth, not into the agent's URL")
    return parsed


async def fetch_card(
    client: httpx.AsyncClient, url: httpx.URL, options: RemoteOptions
) -> AgentCard:
    """Fetch the card of the agent at `url`, which may also be the card's own address.

    Raises:
        RemoteConnectionError: The agent cannot be reached.
        RemoteTimeoutError: The card does not arrive in time.
        RemoteAuthError: The card requires credentials.
        RemoteAnswerError: There is no card.
    """
    return parse_card(await fetch_card_json(client, url, options), str(url))


async def fetch_card_json(
    client: httpx.AsyncClient, url: httpx.URL, options: RemoteOptions
) -> bytes:
    """Fetch the body of a card as `fetch_card` does, without parsing it."""
    failure: RemoteAgentError | None = None
    try:
        async with asyncio.timeout(min(options.timeout, _CARD_SECONDS)):
            for address, is_card in _addresses(url):
                response = await get(client, address, options.card_bytes)
                if response.status_code == httpx.codes.NOT_FOUND:
                    continue
                try:
                    content = _content(response, address)
                    if is_card(content):
                        return content
                except RemoteAgentError as error:  # others may have the card
                    failure = failure or error
    except TimeoutError as error:
        raise RemoteTimeoutError(f"{url} did not send its card in time") from error
    if failure is not None:
        raise failure
    hints = installed_plugins().card_hints(str(url))
    raise RemoteAnswerError("; ".join([f"there is no agent card at {url} (HTTP 404)", *hints]))


async def fetch_keys(client: httpx.AsyncClient, options: RemoteOptions, url: str) -> bytes:
    """Fetch the JSON Web Key Set that verifies cards.

    Raises:
        RemoteAgentError: The keys cannot be fetched, or not in time.
        ForbiddenUrlError: The outbound policy refuses the URL.
    """
    try:
        async with asyncio.timeout(min(options.timeout, _CARD_SECONDS)):
            response = await get(client, url, options.card_bytes)
    except TimeoutError as error:
        raise RemoteTimeoutError(f"{url} did not answer in time") from error
    if response.status_code != httpx.codes.OK:
        raise RemoteAnswerError(f"{url} answers HTTP {response.status_code}")
    return response.content


_IsCard: TypeAlias = "Callable[[bytes], bool]"


def _addresses(url: httpx.URL) -> Iterator[tuple[str, _IsCard]]:
    """Yield the possible addresses of the card, each with a test for its response.

    They are: the URL itself if it ends in `.json`, or else its well-known paths, the URL itself,
    and the well-known paths of its origin, whose card must name an interface at the URL's path.
    """
    if url.path.endswith(".json"):
        yield str(url), _is_anything
    else:
        bare = url.copy_with(query=None, fragment=None)
        path = bare.path.rstrip("/")
        for each in WELL_KNOWN_PATHS:
            yield str(bare).rstrip("/") + each, _is_anything
        if path:
            yield str(url.copy_with(fragment=None)), _is_card
            origin = str(bare.copy_with(path="/")).rstrip("/")
            for each in WELL_KNOWN_PATHS:
                yield origin + each, partial(_is_card_of, path)
    for address in installed_plugins().card_addresses(str(url)):  # last, as it loads the plugins
        yield address, _is_anything


def _is_anything(content: bytes) -> bool:  # noqa: ARG001 - parsing it reports the faults
    return True


def _is_card(content: bytes) -> bool:
    """Return whether the response of an address that also serves other purposes is a card."""
    try:
        found = from_json(content)
    except ValueError:
        return False
    return isinstance(found, dict) and "name" in found and bool({"url", _INTERFACES} & found.keys())


def _is_card_of(path: str, content: bytes) -> bool:
    """Return whether the card of an origin is that of the agent at a path."""
    if not _is_card(content):
        return False
    found = from_json(content)
    interfaces = found.get(_INTERFACES)
    named = [found.get("url"), *(interfaces if isinstance(interfaces, list) else ())]
    for each in named:
        address = each.get("url") if isinstance(each, dict) else each
        its = urlsplit(address).path.rstrip("/") if isinstance(address, str) else ""
        if its and (f"{its}/".startswith(f"{path}/") or f"{path}/".startswith(f"{its}/")):
            return True
    return False


def _content(response: httpx.Response, address: str) -> bytes:
    status = response.status_code
    if status in UNAUTHORIZED:
        challenge = quote(response.headers.get("www-authenticate", ""), _REASON_LENGTH)
        raise RemoteAuthError(
            f"{address} wants credentials for the card (HTTP {status})"
            + (f": {challenge}" if challenge else "")
        )
    if response.is_redirect:
        target = quote(response.headers.get("location", "elsewhere"), _REASON_LENGTH)
        raise RemoteAnswerError(f"{address} redirects to {target}: use that URL if you trust it")
    if status != httpx.codes.OK:
        reason = reason_of(response.content)
        raise RemoteAnswerError(
            f"{address} answers HTTP {status} instead of a card" + (f": {reason}" if reason else "")
        )
    return response.content


_SCHEMES = frozenset(field.json_name for field in SecurityScheme.DESCRIPTOR.fields)


class InvalidCardError(RemoteAnswerError):
    """The response is not a valid agent card."""


def parse_card(content: bytes, source: str) -> AgentCard:
    """Parse the JSON of a card of either protocol version.

    Raises:
        InvalidCardError: It is not a card, or names no interface; the text mentions `source`.
    """
    try:
        found = from_json(content)
    except ValueError as error:
        raise InvalidCardError(f"{source} answers no JSON and so is not an agent card") from error
    try:
        card = card_of(found)
    except _NOT_A_CARD as error:
        fault = f": {_fault(content, error)}" if isinstance(found, dict) else ""
        raise InvalidCardError(f"what {source} answers is not an agent card{fault}") from error
    if not card.supported_interfaces:
        raise InvalidCardError(
            f"the card at {source} names no interface: it has neither supportedInterfaces nor a url"
        )
    return card


_NOT_A_CARD = (ValueError, TypeError, AttributeError, ParseError, A2AClientError)


def _fault(content: bytes, error: Exception) -> str:
    """Describe the field that makes a card unreadable, or else the error."""
    for name in from_json(content):
        others = from_json(content)
        wrong = others.pop(name)
        try:
            card_of(others)
        except _NOT_A_CARD:
            continue
        return f"its field {quote(name)} is invalid, {quote(as_text([Data(wrong)]), _SHOWN_LENGTH)}"
    return quote(str(error), _REASON_LENGTH)


def card_of(content: Any) -> AgentCard:
    """Convert parsed JSON into a card; the JSON may be modified.

    A card for both protocol versions describes each security scheme twice in one object. The SDK
    would read the 0.3 form, which lacks the device flow, so this keeps only the 1.0 form.

    Raises:
        ValueError, TypeError, AttributeError, ParseError: It is not a card.
    """
    for name in [name for name, value in content.items() if value is None]:
        del content[name]
    _repair_versions(content)
    _repair_bindings(content)
    schemes = content.get("securitySchemes") or {}
    for name, scheme in list(schemes.items()):
        if scheme is None:
            del schemes[name]
        elif current := _SCHEMES & scheme.keys():
            schemes[name] = {key: scheme[key] for key in current}
    return parse_agent_card(content)


def _repair_versions(content: dict[str, Any]) -> None:
    """Remove versions that are null or empty, and the `v` of the others.

    A card without versions is of A2A 0.2, which has the calls of 0.3.
    """
    interfaces = content.get(_INTERFACES)
    for place in (content, *_dicts(interfaces)):
        if "protocolVersion" in place:
            version = str(place["protocolVersion"] or "").strip().lower().removeprefix("v")
            place["protocolVersion"] = version
            if not version:
                del place["protocolVersion"]
    if interfaces is None:
        content.setdefault("protocolVersion", "0.2")


def _repair_bindings(content: dict[str, Any]) -> None:
    """Add missing bindings, which 0.3 allows, and normalise the names of the known ones."""
    places = [
        *(
            (each, "protocolBinding", each.get("transport"))
            for each in _dicts(content.get(_INTERFACES))
        ),
        *((each, "transport", None) for each in _dicts(content.get("additionalInterfaces"))),
        *([(content, "preferredTransport", None)] if "url" in content else []),
    ]
    for place, key, other in places:
        binding = place.get(key) or other or _BINDINGS[0]
        known = isinstance(binding, str) and binding.upper() in _BINDINGS
        place[key] = binding.upper() if known else binding


def _dicts(listed: object) -> list[dict[str, Any]]:
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def describe(card: AgentCard) -> AgentDescription:
    """Return the part of a card that a language model may see: shortened, one line per text."""
    skills = [
        Skill(
            id=quote(skill.id, _NAME_LENGTH),
            name=quote(skill.name, _NAME_LENGTH),
            description=quote(skill.description, _TEXT_LENGTH),
            tags=[quote(tag, _NAME_LENGTH) for tag in skill.tags[:_SKILLS]],
            examples=[quote(example, _TEXT_LENGTH) for example in skill.examples[:_SKILLS]],
        )
        for skill in card.skills[:_SKILLS]
    ]
    return AgentDescription(
        name=quote(card.name, _NAME_LENGTH),
        description=quote(card.description, _TEXT_LENGTH),
        version=quote(card.version, _NAME_LENGTH),
        skills=skills,
        input_modes=list(card.default_input_modes),
        output_modes=list(card.default_output_modes),
    )
