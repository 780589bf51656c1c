"""`FileStore` keeps large files outside of messages."""

from __future__ import annotations

import logging
import os
import time
from asyncio import to_thread
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from obstore.exceptions import BaseError

from a2a_adapters import ConfigurationError, File, InvalidInputError
from a2a_adapters.concurrency import in_background
from a2a_adapters.plugin import AgentFailedError, Extension, blocking, check_arguments
from a2a_adapters_files.extension import FILES_EXTENSION, pieces_of
from a2a_adapters_files.serving.links import Links, safe_name
from a2a_adapters_files.serving.objects import PART_BYTES, Objects
from a2a_adapters_files.serving.quota import Quota

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterator

    from obstore.store import ObjectStore
    from starlette.types import Scope

    from a2a_adapters import AgentRequest, Output, Part
    from a2a_adapters_files.serving.links import FileId
    from a2a_adapters_files.serving.objects import StoredFile
    from a2a_adapters_files.serving.quota import Claim

SECRET_VARIABLE = "A2A_ADAPTERS_FILES_SECRET"  # noqa: S105 - a name
"""Environment variable with the secret of the links."""

_MEBIBYTE = 1024 * 1024
_SECRET_LENGTH = 32
_TIDY_SECONDS = 600.0
_CLOCK_SECONDS = 600.0
"""Maximum difference between the clocks of this machine and of a bucket."""

_STEP_BYTES = 64 * _MEBIBYTE
"""Number of bytes by which the size of a stream is counted in advance."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, init=False)
class _Reference(File):
    """A received file that stays in the store, so that nothing else fetches its URL."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The owner of the running request, and the server's address; "" if that is unknown."""

    owner: str
    base: str


_place: ContextVar[_Place | None] = ContextVar("a2a_adapters_files_place", default=None)


class FileStore:
    """Stores large files in a folder or bucket, for `ServerOptions.files` of one server.

    Files in artifacts above `inline_bytes` become links. A link is signed, expires, and is all that
    is needed to read the file; it contains the owner, and only messages of that owner may refer to
    it. Received files above `agent_bytes` reach the agent as a `File` with a URL, for `read` or
    `save`.

    Args:
        place: A folder, a URL such as `s3://bucket/prefix` (configured by the environment variables
            `AWS_*`) or `memory:///`, or a store of the library obstore.
        secret: Signs the links, at least 32 characters. Processes with the same place need the
            same. By default the environment variable `A2A_ADAPTERS_FILES_SECRET`.
        url: The server's public address in links. By default the one that the client used; without
            either, as over gRPC, files stay in their messages.
        inline_bytes: Size above which files are stored.
        agent_bytes: Maximum size of a message's uploaded files that the agent gets as bytes.
        file_bytes: Maximum size of a file.
        owner_bytes: Maximum size of the files of an owner; anonymous callers are one owner. A file
            counts at least 64 KiB, and an upload counts from its beginning.
        expiry_seconds: Time after which a file and its links expire.

    Raises:
        ConfigurationError: The secret is missing or too short, or the place cannot be used.
    """

    def __init__(
        self,
        place: str | Path | ObjectStore,
        *,
        secret: str | None = None,
        url: str | None = None,
        inline_bytes: int = _MEBIBYTE,
        agent_bytes: int = 8 * _MEBIBYTE,
        file_bytes: int = 1024 * _MEBIBYTE,
        owner_bytes: int = 4096 * _MEBIBYTE,
        expiry_seconds: float = 24 * 3600,
    ) -> None:
        check_arguments(FileStore, locals(), {"file_bytes", "owner_bytes"})
        secret = secret or os.environ.get(SECRET_VARIABLE, "")
        if len(secret) < _SECRET_LENGTH:
            raise ConfigurationError(
                f"a FileStore needs a secret of at least {_SECRET_LENGTH} characters, such as from "
                f"`openssl rand -hex 32`: pass secret=..., or set {SECRET_VARIABLE}"
            )
        self.links = Links(secret)
        self.objects = Objects(place)
        self.file_bytes = file_bytes
        self.owner_bytes = owner_bytes
        self.expiry_seconds = expiry_seconds
        self._quota = Quota(self.objects.store, owner_bytes, expiry_seconds)
        self._step = min(_STEP_BYTES, owner_bytes // 16)
        self.extension = Extension(
            uri=FILES_EXTENSION,
            description="Takes large files by reference, after they were uploaded.",
            params={
                "address": "files",
                "inline_bytes": inline_bytes,
                "file_bytes": file_bytes,
            },
        )
        self._inline_bytes = inline_bytes
        self._agent_bytes = agent_bytes
        self._url = url.rstrip("/") if url else ""
        self._address: Callable[[Scope], str] | None = None
        self._next_tidying = 0.0

    def __repr__(self) -> str:
        return "FileStore()"

    def use_address(self, address: Callable[[Scope], str]) -> None:
        """Set the function that returns the server's address for a request."""
        self._address = address

    def base(self, scope: Scope | None) -> str:
        """Return the server's address for links, or ""."""
        if self._url or scope is None or self._address is None:
            return self._url
        return self._address(scope).rstrip("/")

    def begin(self, owner: str, scope: Scope | None) -> None:
        """Set the caller for the current context; without `scope` their address is unknown."""
        _place.set(_Place(owner, self.base(scope)))

    async def received(self, request: AgentRequest) -> AgentRequest:
        """Check the references to uploaded files, and replace those of small files by bytes.

        Raises:
            InvalidInputError: A reference is invalid, or belongs to another owner.
        """
        if not any(isinstance(part, File) and part.url for part in request.parts):
            return request
        parts: list[Part] = []
        left = self._agent_bytes
        for part in request.parts:
            stored = None
            if isinstance(part, File) and part.url:
                stored = await self._find(part.url, request.owner)
            if stored is None or not isinstance(part, File):
                parts.append(part)
                continue
            named = replace(
                part,
                filename=part.filename or stored.name,
                media_type=part.media_type or stored.media_type,
            )
            if stored.size <= left:
                left -= stored.size
                content = b"".join([piece async for piece in self._content(stored)])
                parts.append(replace(named, content=content, url=None))
            else:
                parts.append(_reference(named))
        return replace(request, parts=tuple(parts))

    async def sent(self, output: Output) -> Output:
        """Store the large files of an artifact, and replace them by links.

        A file that the store cannot take stays in the artifact: the answer is not lost with it.
        """
        place = _place.get()
        if not any(self._is_large(part) for part in output.parts) or not (place and place.base):
            return output
        return replace(output, parts=[await self._linked(part) for part in output.parts])

    def _is_large(self, part: Part) -> bool:
        content = part.content if isinstance(part, File) else None
        return content is not None and len(content) > self._inline_bytes

    async def _linked(self, part: Part) -> Part:
        if not isinstance(part, File) or part.content is None or not self._is_large(part):
            return part
        try:
            link = await self.add(
                part.content, filename=part.filename, media_type=part.guess_media_type()
            )
        except (InvalidInputError, AgentFailedError) as error:
            reason = str(error.__cause__ or error)[:200]
            logger.warning("a file of an artifact stays in it: %s", reason)
            return part
        return replace(link, metadata=part.metadata)

    async def add(
        self,
        content: bytes | Path | AsyncIterable[bytes],
        *,
        filename: str = "",
        media_type: str = "",
    ) -> File:
        """Store a file for the caller of the running agent, and return a link for an artifact.

        Args:
            content: Bytes, the path of a file, or a stream, which is never in memory as a whole.
            filename: The name for the caller; by default that of the path.
            media_type: The media type; guessed from the name by default.

        Raises:
            ConfigurationError: No agent of the server runs here, or its address is unknown.
            InvalidInputError: The file is too large, or its owner has too many.
            AgentFailedError: The file storage fails, for example because it is full.
        """
        place = _place.get()
        if place is None or not place.base:
            raise ConfigurationError(
                "a file is stored for the caller of a running agent; over gRPC, and for a task "
                "resumed after a restart, the store needs the server's address: FileStore(url=...)"
            )
        if isinstance(content, Path):
            filename = filename or content.name
        filename = safe_name(filename)
        media_type = File(url="", media_type=media_type, filename=filename).guess_media_type()
        file_id = self.links.new_id(place.owner, self.expiry_seconds)
        claim = self._quota.claim(file_id.owner, file_id.expires)
        try:
            size = await self._write(file_id, claim, content)
            with _failures_named():
                await self.objects.describe(file_id, size, filename, media_type)
                await claim.shrink(size)
        except BaseException:
            in_background(self._drop(file_id, claim))
            raise
        self._tidy_at_times()
        link = self.links.download(place.base, file_id, filename)
        return File(url=link, media_type=media_type, filename=filename)

    async def _write(
        self, file_id: FileId, claim: Claim, content: bytes | Path | AsyncIterable[bytes]
    ) -> int:
        """Write the content of a file, and return its size."""
        known = 0
        if isinstance(content, Path):
            known = (await to_thread(content.stat)).st_size
        elif isinstance(content, bytes):
            known = len(content)
        with _failures_named():
            await self._take(claim, known)
        written = number = 0
        async with aclosing(pieces_of(content, PART_BYTES)) as pieces:
            async for piece in pieces:
                written += len(piece)
                with _failures_named():
                    await self._take(claim, written, more=self._step)
                    await self.objects.write(file_id, number, piece)
                number += 1
        return written

    async def _take(self, claim: Claim, size: int, *, more: int = 0) -> None:
        """Count the bytes of a file, and `more` in advance if there is room.

        Raises:
            InvalidInputError: The file is too large, or its owner has too many.
        """
        if size > self.file_bytes:
            raise InvalidInputError(f"a file may have at most {self.file_bytes:,} bytes")
        if size <= claim.size or (more and await claim.grow(size + more)) or await claim.grow(size):
            return
        raise InvalidInputError(
            f"your files may have at most {self.owner_bytes:,} bytes together; older ones expire "
            f"after {self.expiry_seconds:g} s"
        )

    async def _drop(self, file_id: FileId, claim: Claim) -> None:
        await self.objects.delete(file_id)
        await claim.shrink(0)

    async def reserve(self, file_id: FileId, size: int, filename: str, media_type: str) -> None:
        """Store the description of a file, if there is room for its content.

        Raises:
            InvalidInputError: The file is too large, or its owner has too many.
        """
        claim = self._quota.claim(file_id.owner, file_id.expires)
        try:
            await self._take(claim, size)
            await self.objects.describe(file_id, size, filename, media_type)
        except BaseException:
            if claim.size:
                in_background(self._drop(file_id, claim))
            raise
        self._tidy_at_times()

    def _tidy_at_times(self) -> None:
        if time.monotonic() >= self._next_tidying:
            self._next_tidying = time.monotonic() + _TIDY_SECONDS
            in_background(self.tidy())

    async def tidy(self) -> None:
        """Delete expired files. The store does so by itself while files are added."""
        seconds = 2 * self.expiry_seconds + _CLOCK_SECONDS  # all that an older count has expired
        await self.objects.delete_expired(datetime.now(UTC) - timedelta(seconds=seconds))

    async def _find(self, url: str, owner: str | None) -> StoredFile | None:
        """Return the file of a link; None if it is not a link of this store."""
        file_id = self.links.referred(url, owner)
        if file_id is None:
            return None
        stored = await self.objects.find(file_id)
        if stored is None:
            raise InvalidInputError("the upload of a file is not complete")
        return stored

    def _content(self, stored: StoredFile) -> AsyncGenerator[bytes]:
        return self.objects.read(stored, 0, stored.size)

    async def read(self, file: File) -> AsyncGenerator[bytes]:
        """Yield the content of a file that the agent received, in pieces.

        Raises:
            InvalidInputError: Its URL is not a valid link of this store and of the running
                request's owner.
        """
        if file.content is not None:
            yield file.content
            return
        place = _place.get()
        stored = await self._find(file.url or "", place.owner if place else None)
        if stored is None:
            raise InvalidInputError("this agent takes files by their bytes, or uploaded to it")
        async with aclosing(self._content(stored)) as pieces:
            async for piece in pieces:
                yield piece

    async def save(self, file: File, path: str | Path) -> None:
        """Write a file that the agent received to `path`; raises as `read` does."""
        with await to_thread(Path(path).open, "wb") as target:
            async with aclosing(self.read(file)) as pieces:
                async for piece in pieces:
                    await to_thread(target.write, piece)

    def read_sync(self, file: File) -> Iterator[bytes]:
        """Yield the content of a file that the agent received, as `read` does."""
        pieces = self.read(file)
        try:
            while (piece := blocking.run(_next(pieces))) is not None:
                yield piece
        finally:
            blocking.run(pieces.aclose())

    add_sync = blocking.running(add)
    save_sync = blocking.running(save)


@contextmanager
def _failures_named() -> Iterator[None]:
    """Tell the agent's caller that the file storage fails; the cause is only logged."""
    try:
        yield
    except (OSError, BaseError) as error:
        text = "A file of the agent cannot be stored at the moment."
        raise AgentFailedError("limit", text) from error


def _reference(file: File) -> _Reference:
    return _Reference(
        url=file.url,
        media_type=file.media_type,
        filename=file.filename,
        metadata=file.metadata,
    )


async def _next(pieces: AsyncGenerator[bytes]) -> bytes | None:
    return await anext(pieces, None)
