"""Tasks that wait until their user has logged in somewhere (`auth-required`, A2A 1.0, 7.6)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_adapters import Data, File, RemoteTimeoutError, Text
from a2a_adapters_oauth.discovery import is_protected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_adapters import AgentReply, Part, RemoteTask
    from a2a_adapters.plugin import JSON

LOGGED_IN = "I have logged in."
"""A message for agents that wait for a sign that their user has logged in."""

_URL_KEY = re.compile(
    r"(?:(?:auth|authorization|login|verification)_?)?ur[li](?:_?complete)?", re.IGNORECASE
)
"""Matches the names of addresses to open, unlike those of token endpoints and redirects."""
_URL = re.compile(r"""https?://[^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?]""")
_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 5.0


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """An agent's request that its user log in, which is untrusted: show the user the whole address.

    Attributes:
        prompt: The agent's text.
        urls: The addresses to open, https or on this machine.
        data: The values of the data parts, such as security schemes.
    """

    prompt: str
    urls: Sequence[str]
    data: Sequence[JSON]


def login_request(reply: AgentReply) -> LoginRequest | None:
    """Return what a reply asks its user to do, None unless its state is `auth-required`."""
    if reply.state != "auth-required":
        return None
    found = (url for part in reply.status_parts for url in _urls(part))
    parts = (part for part in reply.status_parts if isinstance(part, Data))
    data: list[JSON] = [part.value for part in parts]  # type: ignore[misc]
    return LoginRequest(reply.question, [*dict.fromkeys(filter(is_protected, found))], data)


async def login_noticed(task: RemoteTask, seconds: float = 600) -> AgentReply:
    """Wait until an agent continues by itself after a login, and return its complete answer.

    Agents that wait for a message need one instead: `task.answer(LOGGED_IN)`, `task.result()`.

    Args:
        task: The task that waits.
        seconds: Maximum time for the login and for the answer, each.

    Raises:
        RemoteTimeoutError: The task still waits, or has no complete answer.
        RemoteAgentError: The task failed, or the agent does not answer.
    """
    pause = _FIRST_PAUSE
    try:
        async with asyncio.timeout(seconds):
            while (await task.status()).state == "auth-required":
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
    except TimeoutError as error:
        raise RemoteTimeoutError(f"no login within {seconds:g} s", task_id=task.id) from error
    return await task.result(seconds)


def _urls(part: Part) -> Iterator[str]:
    match part:
        case Text():
            yield from _URL.findall(part.text)
        case Data():
            yield from _named(part.value)
        case File(url=str(url)):
            yield url


def _named(value: object) -> Iterator[str]:
    """Yield the addresses in JSON that are to be opened."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, str):
                if _URL_KEY.fullmatch(key):
                    yield inner
            else:
                yield from _named(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _named(inner)
