"""Uploads large files before the message that refers to them."""

from __future__ import annotations

import asyncio
from asyncio import to_thread
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypedDict

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from a2a_adapters import (
    File,
    ForbiddenUrlError,
    InvalidInputError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
)
from a2a_adapters.dialects import quote, struct_to_dict
from a2a_adapters.plugin import check_arguments
from a2a_adapters_files.extension import FILES_EXTENSION, pieces_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from a2a.types import AgentCard

    from a2a_adapters import Part

_INLINE_BYTES = 8 * 1024 * 1024
"""Maximum size of a local file for an agent that takes no uploads."""

_SENT_BYTES = 256 * 1024
_ATTEMPTS = 3
_PARTS = 1_000_000


class _Offer(BaseModel):
    """Parameters of the extension in a card."""

    address: str = Field(max_length=2000)
    inline_bytes: int = Field(default=0, ge=0)
    file_bytes: int = Field(gt=0)


class _Asked(TypedDict):
    """A request for an upload."""

    size: int
    filename: str
    media_type: str


class _Links(BaseModel):
    """The answer to a request for an upload."""

    model_config = ConfigDict(strict=True)

    url: str = Field(max_length=4000)
    upload: str = Field(max_length=4000)
    part_bytes: int = Field(ge=1024, le=64 * 1024 * 1024)


class _Piece:
    """A part of a file that can be sent repeatedly.

    httpx's requests are in reference cycles, so the content is removed once it was sent.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.content), _SENT_BYTES):
            yield self.content[start : start + _SENT_BYTES]


async def uploaded(
    parts: Sequence[Part], card: AgentCard, http: httpx.AsyncClient
) -> Sequence[Part]:
    """Upload the large files of a message, and return its parts with links to them.

    Raises:
        InvalidInputError: A local file cannot be read, or is too large for the agent.
        RemoteAgentError: The upload failed.
    """
    offer = _offer(card)
    return [
        await _sent(part, offer, card, http) if isinstance(part, File) else part for part in parts
    ]


def _offer(card: AgentCard) -> _Offer | None:
    for extension in card.capabilities.extensions:
        if extension.uri == FILES_EXTENSION:
            try:
                return _Offer.model_validate(struct_to_dict(extension.params))
            except ValidationError:
                return None
    return None


async def _sent(file: File, offer: _Offer | None, card: AgentCard, http: httpx.AsyncClient) -> File:
    content: bytes | Path
    if isinstance(file, LocalFile):
        content, size = file.path, await _size(file.path)
    elif file.content is not None:
        content, size = file.content, len(file.content)
    else:
        return file
    media_type = file.guess_media_type()
    if offer is not None and size > offer.inline_bytes:
        if size > offer.file_bytes:
            raise InvalidInputError(
                f"{file.filename or 'a file'} is too large: the agent takes files of at most "
                f"{offer.file_bytes:,} bytes"
            )
        asked: _Asked = {"size": size, "filename": file.filename, "media_type": media_type}
        url = await _upload(content, asked, _address(card, offer), http)
        return _copy(file, media_type, url=url)
    if not isinstance(content, bytes):
        if size > _INLINE_BYTES:
            raise InvalidInputError(
                f"{file.filename} is too large: the agent takes no uploads, and a message can hold "
                f"a local file of at most {_INLINE_BYTES:,} bytes"
            )
        return _copy(file, media_type, content=await _read(content))
    return file


def _copy(
    file: File, media_type: str, *, content: bytes | None = None, url: str | None = None
) -> File:
    return File(
        content=content,
        url=url,
        media_type=media_type,
        filename=file.filename,
        metadata=file.metadata,
    )


async def _size(path: Path) -> int:
    try:
        return (await to_thread(path.stat)).st_size
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error


async def _read(path: Path) -> bytes:
    try:
        return await to_thread(path.read_bytes)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error


def _address(card: AgentCard, offer: _Offer) -> httpx.URL:
    """Return the address for uploads, which is relative to the agent's URL over HTTP."""
    for interface in card.supported_interfaces:
        if interface.url.startswith(("http://", "https://")):
            try:
                return httpx.URL(interface.url.rstrip("/") + "/").join(offer.address)
            except httpx.InvalidURL as error:
                raise RemoteAnswerError("the agent's address for uploads is invalid") from error
    raise RemoteAnswerError("the agent takes uploads, but has no address over HTTP")


async def _upload(
    content: bytes | Path, asked: _Asked, address: httpx.URL, http: httpx.AsyncClient
) -> str:
    size = asked["size"]
    answer = await _request(http, "POST", address, json=asked)
    try:
        links = _Links.model_validate_json(answer)
    except ValidationError as error:
        raise RemoteAnswerError("the agent's answer to an upload is not its address") from error
    if size > links.part_bytes * _PARTS:
        raise RemoteAnswerError("the agent asks for too many parts of an upload")
    number = sent = 0
    try:
        async with aclosing(pieces_of(content, links.part_bytes)) as pieces:
            async for piece in pieces:
                sent += len(piece)
                if sent > size:
                    break
                url = links.upload.replace("{part}", str(number))
                body = _Piece(piece)
                try:
                    await _request(http, "PUT", url, content=body)
                finally:
                    body.content = b""
                number += 1
    except OSError as error:
        if isinstance(error, RemoteConnectionError):
            raise
        raise InvalidInputError(f"a local file cannot be read: {error.strerror}") from error
    if sent != size:
        raise InvalidInputError("a local file changed while it was uploaded")
    return links.url


async def _request(
    http: httpx.AsyncClient,
    method: str,
    url: httpx.URL | str,
    *,
    content: _Piece | None = None,
    json: object = None,
) -> bytes:
    """Send a request and return the answer; a PUT is repeated if its connection breaks."""
    attempts = _ATTEMPTS if method == "PUT" else 1
    for attempt in range(1, attempts + 1):
        try:
            response = await http.request(
                method,
                url,
                content=content,
                json=json,
                headers={"Content-Length": str(len(content.content))} if content else None,
            )
            break
        except ForbiddenUrlError as error:
            text = f"the agent names a forbidden address for a file: {error}"
            raise RemoteConnectionError(text) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            if attempt == attempts or not isinstance(error, httpx.TransportError):
                raise RemoteConnectionError(
                    f"the upload of a file failed: {type(error).__name__}"
                ) from error
        await asyncio.sleep(0.25 * attempt)
    if not response.is_success:
        _refuse(response)
    return response.content


def _refuse(response: httpx.Response) -> NoReturn:
    status = response.status_code
    if status in {401, 403}:
        raise RemoteAuthError(f"the agent wants credentials, or other ones (HTTP {status})")
    try:
        text = str(response.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        text = f"HTTP {status}"
    raise RemoteRefusedError(f"the agent refused a file: {quote(text)}")


@dataclass(frozen=True, slots=True, init=False)
class LocalFile(File):
    """A file on this machine, which `RemoteAgent` reads while it sends the message.

    Large files are uploaded by stream if the agent supports that.

    Args:
        path: The file.
        media_type: The media type; guessed from the name by default.
        filename: The name for the agent; by default that of the path.
    """

    path: Path = Path()

    def __init__(self, path: str | Path, *, media_type: str = "", filename: str = "") -> None:
        check_arguments(LocalFile, locals())
        path = Path(path)
        File.__init__(self, url="", media_type=media_type, filename=filename or path.name)
        object.__setattr__(self, "path", path)
