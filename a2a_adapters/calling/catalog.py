"""The agents of a host, as its AI Catalog lists them.

See https://agent-card.github.io/ai-catalog/
"""

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
from a2a_adapters.calling.errors import (
    NoCardError,
    RemoteAnswerError,
    RemoteConnectionError,
    RemoteTimeoutError,
)
from a2a_adapters.calling.http import MAX_BYTES, make_client
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
"""How deep catalogs may list others, as the specification recommends."""

_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Listed:
    """An agent of a catalog, in the catalog's words.

    Attributes:
        name: Its name, clipped.
        description: What it does, clipped.
        address: Where its card is, or where it is itself.
        card: Its card, if the catalog holds it.
    """

    name: str
    description: str
    address: str
    card: AgentCard | None = None


async def read_catalog(
    host: str, auth: httpx.Auth | None, options: RemoteOptions
) -> list[Listed] | None:
    """Return the agents that a host lists, those of the catalogs it lists included.

    Args:
        host: The host's address, or that of a catalog: a URL that ends in `.json`.
        auth: Credentials, which no other host gets.
        options: Limits; `outbound` says to which other hosts requests may go.

    Returns:
        The agents, 1,000 at most; None if the host has no catalog.

    Raises:
        ConfigurationError: The address is none.
        RemoteConnectionError: The host cannot be reached.
        RemoteTimeoutError: It does not answer in time.
        RemoteAnswerError: What it answers is no catalog.
    """
    url = agent_url(host)
    is_named = url.path.endswith(".json")
    if not is_named:
        base = str(url.copy_with(query=None, fragment=None)).rstrip("/")
        url = httpx.URL(base + CATALOG_PATH)
    try:
        async with asyncio.timeout(_SECONDS), make_client(url, options, auth) as client:
            content = await _first(client, url, options.card_bytes, is_named=is_named)
            if content is None:
                return None
            return [each async for each in _Reader(client, options.card_bytes).read(content, url)]
    except TimeoutError as error:
        raise RemoteTimeoutError(f"{url} did not send its catalog in time") from error


async def named_agent(
    host: str, name: str, auth: httpx.Auth | None, options: RemoteOptions
) -> httpx.URL:
    """Return the address of the agent that a host lists under a name.

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
    """Return the names of a host's agents; none if its catalog cannot be read."""
    try:
        agents = await read_catalog(host, auth, options)
    except A2AAdaptersError:
        return []
    return [quote(each.name) for each in agents or ()]


class _Reader:
    """Reads a catalog and those it lists, each of them once."""

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
            logger.warning("a catalog that %s lists is left out: %s", url, quote(str(error)))

    async def _inner(self, entry: dict[str, Any], url: httpx.URL) -> tuple[object, httpx.URL]:
        """Return a catalog and its address; None if it has been read or is not there."""
        if (content := entry.get("data")) is not None:
            return content, url
        address = _joined(url, str(entry.get("url")))
        if address in self._seen:
            return None, address
        return await _fetch(self._client, address, self._max_bytes), address


async def _first(
    client: httpx.AsyncClient, url: httpx.URL, max_bytes: int, *, is_named: bool
) -> object | None:
    """Return a catalog, None if what a host answers where one might be is something else."""
    try:
        return await _fetch(client, url, max_bytes)
    except RemoteAnswerError:
        if is_named:
            raise
        return None


async def _fetch(client: httpx.AsyncClient, url: httpx.URL, max_bytes: int) -> object | None:
    """Return the JSON at an address, None if there is nothing."""
    request = client.build_request("GET", url, extensions={MAX_BYTES: max_bytes})
    try:
        response = await client.send(request)
    except httpx.HTTPError as error:
        raise RemoteConnectionError(f"{url} cannot be reached: {error}") from error
    if response.status_code == httpx.codes.NOT_FOUND:
        return None
    if response.status_code != httpx.codes.OK:
        raise RemoteAnswerError(f"{url} answers HTTP {response.status_code} instead of a catalog")
    try:
        content: object = from_json(response.content)
    except ValueError as error:
        raise RemoteAnswerError(f"what {url} answers is not JSON") from error
    return content


def _entries(content: object, url: httpx.URL) -> Iterator[dict[str, Any]]:
    entries = content.get("entries") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise RemoteAnswerError(f"what {url} answers is no AI Catalog: it has no entries")
    return (entry for entry in entries if isinstance(entry, dict))


def _listed(entry: dict[str, Any], catalog: httpx.URL) -> Listed | None:
    """Return an agent, None of an entry that says neither what nor where it is."""
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
        raise RemoteAnswerError(f"{catalog} lists an address that is none") from error
