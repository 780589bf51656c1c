"""Hosts with several agents: naming one of them, and which there are for whoever names none."""

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING
from urllib.parse import unquote

from a2a_adapters.calling.card import agent_url
from a2a_adapters.calling.catalog import read_catalog
from a2a_adapters.cli.exits import NoCardError
from a2a_adapters.contract.errors import A2AAdaptersError
from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters.protocol.shown import quote
from a2a_adapters_client.addresses import as_web_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import httpx

    from a2a_adapters.calling.catalog import Listed
    from a2a_adapters.calling.options import RemoteOptions

_SECONDS = 10.0


class Host:
    """What was typed in place of an agent's address: that one, or `HOST#NAME` for a listed one.

    Args:
        typed: The address; without a scheme it is http on this machine, and https elsewhere.
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
        """Return where the agent is, which may be at another host if this one lists it.

        Raises:
            ConfigurationError: The address is none.
            NoCardError: The host lists no such agent.
            RemoteAgentError: It does not answer.
        """
        if not self._name:
            return agent_url(self.address)
        agents = await read_catalog(self.address, self._auth, self._options)
        if agents is None:
            raise NoCardError(f"{self.address} has no catalog of agents")
        for each in agents:
            if each.name == self._name:
                return agent_url(each.address)
        known = ", ".join(sorted(quote(each.name) for each in agents)) or "none"
        raise NoCardError(f"{self.address} lists no agent {self._name!r}", f"it lists {known}")

    async def no_card(self, reason: str) -> NoCardError:
        """Return what to tell whoever called the host as if it were an agent.

        Args:
            reason: What to tell if it lists no agents.
        """
        try:
            async with asyncio.timeout(_SECONDS):
                agents = await read_catalog(self.address, self._auth, self._options)
        except (A2AAdaptersError, TimeoutError):
            agents = None
        if not agents or self._name:
            return NoCardError(reason)
        hint = "\n".join(["name one of them:", *_lines(self.address, agents)])
        return NoCardError(f"there are several agents at {self.address}", hint)


def _lines(host: str, agents: Sequence[Listed]) -> Iterator[str]:
    names = [each.name for each in agents]
    for each in agents:
        address = quote(each.address.removesuffix(WELL_KNOWN_PATHS[0]))
        is_name = each.name and names.count(each.name) == 1
        name = each.name.replace("%", "%25")
        reference = f"{host}#{name}" if is_name else address
        plain = reference.replace("#", "")  # within a word it begins no comment
        is_word = shlex.quote(plain) == plain
        yield f"  {reference if is_word else shlex.quote(reference)}  {each.description}"
