"""Resolves the agents named on the command line: a host, an address or `HOST#NAME`."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from a2a_adapters.calling.card import agent_url
from a2a_adapters.calling.catalog import named_agent, read_catalog
from a2a_adapters.calling.errors import NoCardError
from a2a_adapters.contract.errors import A2AAdaptersError
from a2a_adapters.contract.text import quote
from a2a_adapters.protocol.card import WELL_KNOWN_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import httpx

    from a2a_adapters.calling.catalog import Listed
    from a2a_adapters.calling.options import RemoteOptions

_SECONDS = 10.0


def as_url(text: str) -> str:
    """Add the missing scheme to an address of this machine; return other texts unchanged."""
    if "://" in text:
        return text
    from a2a_adapters.net.addresses import is_loopback  # noqa: PLC0415 - it comes with httpx

    try:
        host = urlsplit(f"http://{text}").hostname
    except ValueError:
        return text
    return f"http://{text}" if host and is_loopback(host) else text


def as_web_url(text: str) -> str:
    """Add the missing scheme to an address: http for this machine, otherwise https."""
    url = as_url(text)
    return url if "://" in url else f"https://{url}"


def is_address(text: str) -> bool:
    """Return whether a text is an agent's address, not a file or `module:attribute`."""
    if "://" in as_url(text):
        return True
    host, _, port = text.partition("#")[0].partition("/")[0].partition(":")
    is_host = "." in host and not host.endswith(".py") and not Path(host).exists()
    return is_host and (not port or port.isdecimal())


class Host:
    """An agent's address, or `HOST#NAME` for an agent in a host's catalog.

    Args:
        typed: The address as the user typed it, see `as_web_url`.
        auth: Credentials for the host.
        options: Limits.
    """

    def __init__(self, typed: str, auth: httpx.Auth | None, options: RemoteOptions) -> None:
        address, _, name = typed.partition("#")
        self.address = as_web_url(address)
        self._name = unquote(name)
        self._auth = auth
        self._options = options

    async def agent(self) -> httpx.URL:
        """Return the agent's address, which may be on another host that the catalog names.

        Raises:
            ConfigurationError: The address is invalid.
            NoCardError: The host lists no such agent.
            RemoteAgentError: The host does not answer.
        """
        if not self._name:
            return agent_url(self.address)
        return await named_agent(self.address, self._name, self._auth, self._options)

    async def no_card(self, reason: str) -> NoCardError:
        """Return the error for a host without a card: it lists the host's agents, or `reason`."""
        try:
            async with asyncio.timeout(_SECONDS):
                agents = await read_catalog(self.address, self._auth, self._options)
        except (A2AAdaptersError, TimeoutError):
            agents = None
        if not agents or self._name:
            return NoCardError(reason)
        is_only = len(agents) == 1
        found = "an agent is listed, without a card," if is_only else "there are several agents"
        lines = ["name it:" if is_only else "name one of them:", *_lines(self.address, agents)]
        return NoCardError(f"{found} at {self.address}", "\n".join(lines))


def _lines(host: str, agents: Sequence[Listed]) -> Iterator[str]:
    names = [each.name for each in agents]
    for each in agents:
        address = quote(each.address.removesuffix(WELL_KNOWN_PATHS[0]))
        is_name = each.name and names.count(each.name) == 1
        name = each.name.replace("%", "%25")
        reference = f"{host}#{name}" if is_name else address
        plain = reference.replace("#", "")  # within a word it does not start a comment
        is_word = shlex.quote(plain) == plain
        yield f"  {reference if is_word else shlex.quote(reference)}  {each.description}"
