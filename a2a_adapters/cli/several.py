"""Servers with several agents: which there are, for whoever names none."""

from __future__ import annotations

import asyncio
import json

import httpx

from a2a_adapters.calling.card import agent_url
from a2a_adapters.calling.http import MAX_BYTES, make_client
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters.errors import A2AAdaptersError
from a2a_adapters.protocol.shown import quote

_SECONDS = 10.0


def agents_at(url: str) -> list[str]:
    """Return a line for each agent that a server lists; none if it does not, or is away."""
    try:
        listed = json.loads(asyncio.run(_fetch(agent_url(url))))["agents"]
        return [_line(agent["url"], agent["description"]) for agent in listed]
    except (A2AAdaptersError, httpx.HTTPError, OSError, ValueError, LookupError, TypeError):
        return []


def name_one(url: str, agents: list[str]) -> str:
    """Return what to tell somebody who called a server as if it were an agent."""
    return "\n".join([f"there are several agents at {url}, call one of them:", *agents])


def _line(url: str, description: str) -> str:
    return f"  {quote(url)}  {quote(description)}"


async def _fetch(root: httpx.URL) -> bytes:
    options = RemoteOptions(timeout=_SECONDS, idle_timeout=_SECONDS, retries=0)
    address = str(root.copy_with(query=None, fragment=None)).rstrip("/") + "/agents"
    async with asyncio.timeout(_SECONDS), make_client(root, options, None) as client:
        response = await client.get(address, extensions={MAX_BYTES: options.card_bytes})
        response.raise_for_status()
        return response.content
