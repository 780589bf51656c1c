"""Serves the editor that started this process."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from acp import run_agent

from a2a_adapters import ConfigurationError, HeadersAuth, RemoteAgent, RemoteOptions
from a2a_adapters_acp.lines import Lines
from a2a_adapters_acp.offering.agent import EditorAgent
from a2a_adapters_acp.offering.sessions import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Sequence


def answer_editor(url: str, headers: Sequence[str]) -> None:
    """Answer until the editor closes standard input.

    Args:
        url: The remote agent's address.
        headers: Request headers, such as `X-API-Key: secret`.

    Raises:
        ConfigurationError: The URL or a header is invalid.
    """
    if not url.startswith(("http://", "https://")):
        raise ConfigurationError(f"{url!r} is not a URL, as in https://agents.example.com")
    auth = HeadersAuth(dict(map(_header, headers))) if headers else None
    agent = RemoteAgent(url, auth=auth, options=RemoteOptions(progress=True))
    with suppress(KeyboardInterrupt):
        asyncio.run(_answer(EditorAgent(agent, SessionFiles(url)), agent))


async def _answer(editor_agent: EditorAgent, remote: RemoteAgent) -> None:
    # The editor takes every line on standard output for a message of the protocol.
    sys.stdout.flush()
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, sys.stdin)
    transport, flow = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop=loop), output
    )
    writer = asyncio.StreamWriter(transport, flow, None, loop)
    async with remote:
        # The SDK refuses the optional methods that it lacks.
        await run_agent(cast("Any", editor_agent), Lines(reader, writer))


def _header(line: str) -> tuple[str, str]:
    name, separator, value = line.partition(":")
    if not separator or not name.strip():
        raise ConfigurationError("--header is of the form 'Name: value'")
    return name.strip(), value.strip()
