"""Downloads files that agents sent as links."""

from __future__ import annotations

import asyncio
import os
import tempfile
from asyncio import to_thread
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from a2a_adapters import (
    OutboundPolicy,
    RemoteAnswerError,
    RemoteConnectionError,
    RemoteRefusedError,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator

    from a2a_adapters import File, RemoteAgent

_ATTEMPTS = 10
_PAUSE_SECONDS = 0.25
_MOST_BYTES = 1024 * 1024 * 1024


async def download(
    file: File,
    *,
    agent: RemoteAgent | None = None,
    outbound: OutboundPolicy | None = None,
    tls: ssl.SSLContext | None = None,
    max_bytes: int = _MOST_BYTES,
) -> AsyncGenerator[bytes]:
    """Yield the content of a file that an agent sent, in pieces. A broken download is continued.

    No credentials are sent: the link is all that is needed.

    Args:
        file: The file.
        agent: The agent that sent it, whose own host may be on this machine or a private network.
        outbound: The policy for other hosts; by default only public ones.
        tls: Verifies the server; by default as httpx does.
        max_bytes: Maximum size of the file.

    Raises:
        ForbiddenUrlError: The policy forbids the URL.
        RemoteConnectionError: The server cannot be reached, or the connection broke repeatedly.
        RemoteRefusedError: The server does not send the file, such as after its expiry.
        RemoteAnswerError: The file is too large.
    """
    if file.content is not None:
        yield file.content
        return
    policy = outbound or OutboundPolicy()
    if agent is not None and (host := _host(agent)):
        policy = replace(policy, allowed_hosts=policy.allowed_hosts | {host})
    received, attempt = 0, 1
    async with policy.client(ssl_context=tls) as client:
        while True:
            try:
                async with aclosing(_pieces(client, file.url or "", received)) as pieces:
                    async for piece in pieces:
                        received += len(piece)
                        if received > max_bytes:
                            raise RemoteAnswerError(f"the file has over {max_bytes:,} bytes")
                        yield piece
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if attempt == _ATTEMPTS or not isinstance(error, httpx.TransportError):
                    raise RemoteConnectionError(
                        f"the file cannot be downloaded: {type(error).__name__}"
                    ) from error
                await asyncio.sleep(_PAUSE_SECONDS * attempt)
                attempt += 1
            else:
                return


def _host(agent: RemoteAgent) -> str:
    """Return the host of an agent's URL, or "" if only its card is known."""
    try:
        return httpx.URL(agent.name).host
    except httpx.InvalidURL:
        return ""


async def _pieces(client: httpx.AsyncClient, url: str, start: int) -> AsyncGenerator[bytes]:
    """Yield a file from an offset."""
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    async with client.stream("GET", url, headers=headers) as response:
        if response.status_code != (206 if start else 200):
            raise RemoteRefusedError(
                f"the server does not send the file: HTTP {response.status_code}"
            )
        if response.headers.get("content-encoding", "identity") != "identity":
            raise RemoteAnswerError("the server compressed the file though it was not asked to")
        starts_there = response.headers.get("content-range", "").startswith(f"bytes {start}-")
        if start and not starts_there:
            raise RemoteAnswerError("the server sends another part of the file than asked for")
        async for piece in response.aiter_raw():
            yield piece


async def save(
    file: File,
    path: str | Path,
    *,
    agent: RemoteAgent | None = None,
    outbound: OutboundPolicy | None = None,
    tls: ssl.SSLContext | None = None,
    max_bytes: int = _MOST_BYTES,
) -> Path:
    """Write a file that an agent sent to `path`, which is replaced once the file is complete.

    The arguments and errors are those of `download`. Do not use `File.filename`, which the agent
    chose, as a path.
    """
    path = Path(path)
    content = download(file, agent=agent, outbound=outbound, tls=tls, max_bytes=max_bytes)
    handle, name = await to_thread(_temporary, path)
    try:
        with os.fdopen(handle, "wb") as target:
            async with aclosing(content) as pieces:
                async for piece in pieces:
                    await to_thread(target.write, piece)
        await to_thread(Path(name).replace, path)
    except BaseException:
        await to_thread(Path(name).unlink, missing_ok=True)
        raise
    return path


def _temporary(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
