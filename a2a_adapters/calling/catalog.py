"""Reads the AI Catalog of a host, see https://agent-card.github.io/ai-catalog/."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from a2a.client.card_resolver import parse_agent_card
from google.protobuf.json_format import ParseError
from pydantic_core import from_json

from a2a_adapters.calling.card import agent_url
from a2a_adapters.calling.errors import NoCardError, RemoteAnswerError, RemoteTimeoutError
from a2a_adapters.calling.http import get, make_client
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError
from a2a_adapters.contract.text import quote
from a2a_adapters.protocol.card import CARD_TYPE, CATALOG_PATH, CATALOG_TYPE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from a2a.types import AgentCard

    from a2a_adapters.calling.options import RemoteOptions

logger = logging.getLogger(__name__)

_SECONDS = 30.0
_ENTRIES = 1_000
_DEPTH = 4
"""Maximum nesting of catalogs, as the specification recommends."""

_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Listed:
    """A catalog's entry for an agent.

    Attributes:
        name: The name, shortened.
        description: The description, shortened.
        address: The URL of the card, or of the agent if there is a card.
        card: The card, if the catalog contains it.
    """

    name: str
    description: str
    address: str
    card: AgentCard | None = None


async def read_catalog(
    host: str, auth: httpx.Auth | None, options: RemoteOptions
) -> list[Listed] | None:
    """Read the agents in a host's catalog and in the catalogs that it lists.

    Args:
        host: The URL of the host, or of a catalog if it ends in `.json`.
        auth: Credentials for the host itself; other hosts do not get them.
        options: Limits; `outbound` applies to other hosts.

    Returns:
        At most 1,000 agents, or None if the host has no catalog.

    Raises:
        ConfigurationError: The URL is invalid.
        RemoteConnectionError: The host cannot be reached.
        RemoteTimeoutError: The host does not answer in time.
        RemoteAnswerError: The response is not a catalog.
    """
    url = agent_url(host)
    is_catalog = url.path.endswith(".json")
    if not is_catalog:
        base = str(url.copy_with(query=None, fragment=None)).rstrip("/")
        url = httpx.URL(base + CATALOG_PATH)
    try:
        async with asyncio.timeout(_SECONDS), make_client(url, options, auth) as client:
            try:
                content = await _fetch(client, url, options.card_bytes)
            except RemoteAnswerError:
                if is_catalog:
                    raise
                return None
            if content is None:
                return None
            return [each async for each in _Reader(client, options.card_bytes).read(content, url)]
    except TimeoutError as error:
        raise RemoteTimeoutError(f"{url} did not send its catalog in time") from error


async def named_agent(
    host: str, name: str, auth: httpx.Auth | None, options: RemoteOptions
) -> httpx.URL:
    """Return the address of an agent in a host's catalog.

    Raises:
        NoCardError: The host has no catalog, or no agent of that name.
        RemoteAgentError: The catalog cannot be read.
    """
    agents = await read_catalog(host, auth, options)
    if agents is None:
        raise NoCardError(f"{host} has no catalog of agents")
    for each in agents:
        if each.name == name:
            return agent_url(each.address)
    known = ", ".join(sorted(quote(each.name) for each in agents)) or "none"
    raise NoCardError(f"{host} lists no agent {name!r}", f"it lists {known}")


async def listed_names(host: str, auth: httpx.Auth | None, options: RemoteOptions) -> list[str]:
    """Return the names in a host's catalog; empty if it cannot be read."""
    try:
        agents = await read_catalog(host, auth, options)
    except A2AAdaptersError:
        return []
    return [quote(each.name) for each in agents or ()]


class _Reader:
    """Reads a catalog and its nested catalogs, each once."""

    def __init__(self, client: httpx.AsyncClient, max_bytes: int) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._seen: set[httpx.URL] = set()
        self._left = _ENTRIES

    async def read(self, content: object, url: httpx.URL, depth: int = 0) -> AsyncIterator[Listed]:
        self._seen.add(url)
        for entry in _entries(content, url):
            self._left -= 1
            if self._left < 0:
                return
            kind = entry.get("mediaType") or entry.get("type")
            if kind == CARD_TYPE and (listed := _listed(entry, url)):
                yield listed
            elif kind == CATALOG_TYPE and depth < _DEPTH:
                async for each in self._read_inner(entry, url, depth + 1):
                    yield each

    async def _read_inner(
        self, entry: dict[str, Any], url: httpx.URL, depth: int
    ) -> AsyncIterator[Listed]:
        try:
            content, url = await self._inner(entry, url)
            if content is not None:
                async for each in self.read(content, url, depth):
                    yield each
        except A2AAdaptersError as error:
            logger.warning("skipping a catalog listed by %s: %s", url, quote(str(error)))

    async def _inner(self, entry: dict[str, Any], url: httpx.URL) -> tuple[object, httpx.URL]:
        """Return a nested catalog and its address; None if it was already read or is missing."""
        if (content := entry.get("data")) is not None:
            return content, url
        address = _joined(url, str(entry.get("url")))
        if address in self._seen:
            return None, address
        return await _fetch(self._client, address, self._max_bytes), address


async def _fetch(client: httpx.AsyncClient, url: httpx.URL, max_bytes: int) -> object | None:
    """Return the JSON at an address, or None if it is not found."""
    response = await get(client, url, max_bytes)
    if response.status_code == httpx.codes.NOT_FOUND:
        return None
    if response.status_code != httpx.codes.OK:
        raise RemoteAnswerError(f"{url} answers HTTP {response.status_code} instead of a catalog")
    try:
        content: object = from_json(response.content)
    except ValueError as error:
        raise RemoteAnswerError(f"{url} does not answer JSON") from error
    return content


def _entries(content: object, url: httpx.URL) -> Iterator[dict[str, Any]]:
    entries = content.get("entries") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise RemoteAnswerError(f"{url} does not answer an AI Catalog: there are no entries")
    return (entry for entry in entries if isinstance(entry, dict))


def _listed(entry: dict[str, Any], catalog: httpx.URL) -> Listed | None:
    """Return the agent of an entry, or None if it has neither a card nor an address."""
    name = quote(str(entry.get("displayName") or ""), _NAME_LENGTH)
    description = quote(str(entry.get("description") or ""))
    try:
        if isinstance(content := entry.get("data"), dict):
            card = parse_agent_card(content)
            return Listed(name, description, card.supported_interfaces[0].url, card)
        if not isinstance(url := entry["url"], str):
            return None
        return Listed(name, description, str(_joined(catalog, url)))
    except (ParseError, ValueError, LookupError):
        return None


def _joined(catalog: httpx.URL, address: str) -> httpx.URL:
    try:
        return agent_url(str(catalog.join(address)))
    except (ConfigurationError, httpx.InvalidURL) as error:
        raise RemoteAnswerError(f"{catalog} lists an invalid address") from error
