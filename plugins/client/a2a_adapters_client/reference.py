"""Resolves references to agents (a2a-cli 0.2, section 10.1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from a2a_adapters_check.host import Host

from a2a_adapters import RemoteAnswerError
from a2a_adapters.calling.card import agent_url, fetch_card_json
from a2a_adapters.calling.errors import NoCardError
from a2a_adapters.calling.http import make_client

if TYPE_CHECKING:
    import httpx

    from a2a_adapters.calling.options import RemoteOptions
    from a2a_adapters_client.credentials import Credentials


@dataclass(frozen=True, slots=True)
class Found:
    """The content found at a reference.

    Attributes:
        content: The JSON of the card.
        url: URL of the agent; None for a card file.
        origin: The referenced origin, which receives the credentials; None for a card file.
    """

    content: bytes
    url: httpx.URL | None = None
    origin: httpx.URL | None = None


async def find_card(reference: str, credentials: Credentials, options: RemoteOptions) -> Found:
    """Return the card for a host, a URL, a file or `HOST#NAME` of a catalog.

    Raises:
        ConfigurationError: The reference is invalid.
        NoCardError: No card was found.
        RemoteAgentError: The host does not answer or requires credentials.
    """
    if (file := _file(reference)) is not None:
        return Found(_read(file))
    host = Host(reference, credentials, options)
    origin, url = agent_url(host.address), await host.agent()
    try:
        async with make_client(origin, options, credentials) as http:
            return Found(await fetch_card_json(http, url, options), url, origin)
    except RemoteAnswerError as error:
        raise await host.no_card(str(error)) from error


def _file(reference: str) -> Path | None:
    """Return the file named by a reference, None for other references."""
    if reference.startswith("file:"):
        return Path(unquote(urlsplit(reference).path))
    path = Path(reference)
    is_named = reference.startswith((".", "/", "~")) or (
        path.name == reference and path.suffix == ".json"
    )
    return path if is_named or path.is_file() else None


def _read(file: Path) -> bytes:
    try:
        return file.expanduser().read_bytes()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "unknown user"
        raise NoCardError(f"{file} cannot be read: {reason}") from error
