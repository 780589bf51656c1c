"""Fetches files that callers send as URLs, before the adapter gets them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import httpx

from a2a_adapters.contract.errors import ForbiddenUrlError, InvalidInputError
from a2a_adapters.contract.parts import File
from a2a_adapters.contract.text import clipped

if TYPE_CHECKING:
    from starlette.types import Scope

    from a2a_adapters.contract.adapter import AgentRequest, FetchPolicy
    from a2a_adapters.contract.card import Extension
    from a2a_adapters.contract.events import Output
    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.contract.parts import Part

_SECONDS = 30
"""Time limit for all files of a message."""

logger = logging.getLogger(__name__)


@runtime_checkable
class FileService(Protocol):
    """Keeps large files outside of messages, such as `a2a_adapters_files.FileStore`."""

    extension: Extension  # tells clients how to upload files

    def begin(self, owner: str, scope: Scope | None) -> None:
        """Set the caller for the current context; without `scope` their address is unknown."""

    async def received(self, request: AgentRequest) -> AgentRequest:
        """Check the request's references to uploaded files, and fetch small ones."""

    async def sent(self, output: Output) -> Output:
        """Store the large files of an artifact, and replace them by links."""


class FileFetcher:
    """Fetches files sent as URLs, so that neither framework nor model has to.

    Without a policy it fetches nothing. `part_bytes` limits a file, `body_bytes` all of them.
    """

    def __init__(
        self, policy: FetchPolicy | None, limits: Limits, store: FileService | None = None
    ) -> None:
        self._policy = policy
        self.store = store
        self._limits = limits
        self.are_wanted = policy is not None or store is not None

    async def fetched(self, request: AgentRequest) -> AgentRequest:
        """Return the request with the files' bytes in place of URLs.

        Raises:
            InvalidInputError: A file is not available, or too large; the reason is only logged.
        """
        if self.store is not None:
            request = await self.store.received(request)
        policy = self._policy
        if policy is None or not any(_is_far(part) for part in request.parts):
            return request
        parts: list[Part] = []
        left = self._limits.body_bytes
        try:
            async with asyncio.timeout(_SECONDS), policy.client() as client:
                for part in request.parts:
                    if not isinstance(part, File) or not _is_far(part):
                        parts.append(part)
                        continue
                    file = await _fetch(client, part, min(left, self._limits.part_bytes))
                    left -= len(file.content or b"")
                    parts.append(file)
        except (httpx.HTTPError, httpx.InvalidURL, ForbiddenUrlError, OSError) as error:
            reason = clipped(repr(error).partition("?")[0])  # without the signature of a link
            logger.warning("a file of task %s was not fetched: %s", request.task_id, reason)
            raise InvalidInputError("a file cannot be fetched from its address") from error
        return replace(request, parts=tuple(parts))


def _is_far(part: Part) -> bool:
    return type(part) is File and part.content is None  # a store has classes of its own


async def _fetch(client: httpx.AsyncClient, file: File, most: int) -> File:
    """Return the file with its bytes as transferred, without decompression."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "a2a-adapters"}
    async with client.stream("GET", file.url or "", headers=headers) as response:
        response.raise_for_status()
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx.DecodingError("the file came packed", request=response.request)
        content = bytearray()
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > most:
                raise InvalidInputError(f"the file is too large: {most} bytes are left for it")
        media_type = response.headers.get("content-type", "").partition(";")[0].strip()
        name = response.url.path.rpartition("/")[2]
    return replace(
        file,
        content=bytes(content),
        url=None,
        media_type=file.media_type or media_type,
        filename=file.filename or name,
    )
