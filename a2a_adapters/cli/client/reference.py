"""From what names an agent to its card (a2a-cli 0.2, section 10.1)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from a2a_adapters.calling.card import agent_url, fetch_card_json
from a2a_adapters.calling.catalog import read_catalog
from a2a_adapters.calling.http import make_client
from a2a_adapters.cli.addresses import as_url
from a2a_adapters.cli.client.problems import NoCardError
from a2a_adapters.cli.several import agents_at, name_one
from a2a_adapters.errors import RemoteAnswerError
from a2a_adapters.protocol.shown import quote

if TYPE_CHECKING:
    import httpx

    from a2a_adapters.calling.options import RemoteOptions
    from a2a_adapters.cli.client.credentials import Credentials


@dataclass(frozen=True, slots=True)
class Found:
    """What stands where a card should be.

    Attributes:
        content: The JSON.
        url: The agent's address; None of a card in a file.
    """

    content: bytes
    url: httpx.URL | None


async def find_card(reference: str, credentials: Credentials, options: RemoteOptions) -> Found:
    """Return the card that a host, an address, a file or `HOST#NAME` of a catalog leads to.

    Raises:
        ConfigurationError: It is none of these.
        NoCardError: There is no card.
        RemoteAgentError: The host does not answer, or wants credentials.
    """
    if (file := _file(reference)) is not None:
        return Found(_read(file), None)
    address, _, name = reference.partition("#")
    host = as_url(address)
    host = host if "://" in host else f"https://{host}"
    url = agent_url(await _listed(host, unquote(name), credentials, options) if name else host)
    try:
        async with make_client(url, options, credentials) as http:
            return Found(await fetch_card_json(http, url, options), url)
    except RemoteAnswerError as error:
        agents = await asyncio.to_thread(agents_at, host)
        hint = name_one(host, agents) if agents else None
        raise NoCardError(str(error), hint) from error


def _file(reference: str) -> Path | None:
    """Return the file that a reference names, None if it names none."""
    if reference.startswith("file:"):
        return Path(unquote(urlsplit(reference).path))
    path = Path(reference)
    return path if reference.startswith((".", "/", "~")) or path.is_file() else None


def _read(file: Path) -> bytes:
    try:
        return file.expanduser().read_bytes()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "nobody has that name here"
        raise NoCardError(f"{file} cannot be read: {reason}") from error


async def _listed(host: str, name: str, credentials: Credentials, options: RemoteOptions) -> str:
    """Return where the agent of a name is that a host lists."""
    agents = await read_catalog(host, credentials, options)
    if agents is None:
        raise NoCardError(f"{host} has no catalog of agents")
    for each in agents:
        if each.name == name:
            return each.address
    known = ", ".join(sorted(quote(each.name) for each in agents)) or "none"
    raise NoCardError(f"{host} lists no agent {name!r}", f"it lists {known}")
