"""Files as numbered objects of equal size in a folder or bucket.

The object `meta.<size>` describes a file, the objects `00000`, `00001`, ... are its content. So any
process can write the next piece, a piece is written at once or not at all, and no storage needs
to append. A file is complete once the sizes of its pieces add up.
"""

from __future__ import annotations

import json
import shutil
from asyncio import to_thread
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.store import LocalStore, from_url

from a2a_adapters import ConfigurationError
from a2a_adapters.concurrency import finished
from a2a_adapters_files.serving.links import FileId
from a2a_adapters_files.serving.quota import is_count

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from datetime import datetime
    from typing import Any

    from obstore.store import ObjectStore

PART_BYTES = 4 * 1024 * 1024
"""Size of the pieces of a file."""

_STREAM_BYTES = 256 * 1024
_META = "meta."


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A complete file."""

    id: FileId
    name: str
    media_type: str
    size: int


class Objects:
    """The files in a folder or bucket.

    Args:
        place: A folder, a URL that `obstore` knows, such as `s3://bucket/prefix`, or its store.

    Attributes:
        store: The folder or bucket.

    Raises:
        ConfigurationError: The URL is invalid, or the folder cannot be created.
    """

    def __init__(self, place: str | Path | ObjectStore) -> None:
        try:
            self.store = _opened(place)
        except (OSError, ValueError, obstore.exceptions.BaseError) as error:
            kind = type(error).__name__
            raise ConfigurationError(f"the files cannot be stored at this place: {kind}") from error

    async def describe(self, file_id: FileId, size: int, name: str, media_type: str) -> None:
        """Store the description of a file, which may still lack its content."""
        body = json.dumps({"name": name, "media_type": media_type}).encode()
        await self._put(f"{file_id.folder}/{_META}{size}", body)

    async def write(self, file_id: FileId, number: int, piece: bytes | memoryview) -> None:
        """Store a piece of a file."""
        await self._put(f"{file_id.folder}/{number:05}", piece)

    async def _put(self, path: str, body: bytes | memoryview) -> None:
        await finished(obstore.put_async(self.store, path, body, use_multipart=False))

    async def find(self, file_id: FileId) -> StoredFile | None:
        """Return a complete file, or None."""
        size, content, described = 0, 0, ""
        async for path, length in self._listed(file_id.folder):
            name = path.rpartition("/")[2]
            if name.startswith(_META):
                size, described = int(name.removeprefix(_META)), path
            else:
                content += length
        if not described or content != size:
            return None
        found = await obstore.get_async(self.store, described)
        about = json.loads(bytes(await found.bytes_async()))
        return StoredFile(file_id, about["name"], about["media_type"], size)

    async def read(self, file: StoredFile, start: int, end: int) -> AsyncGenerator[bytes]:
        """Yield the bytes of a file from `start` to before `end`."""
        while start < end:
            number, offset = divmod(start, PART_BYTES)
            stop = min(PART_BYTES, offset + end - start)
            path = f"{file.id.folder}/{number:05}"
            found = await obstore.get_async(self.store, path, options={"range": (offset, stop)})
            async for piece in found.stream(min_chunk_size=_STREAM_BYTES):
                yield bytes(piece)
            start += stop - offset

    async def delete(self, file_id: FileId) -> None:
        """Delete a file."""
        await self._delete([path async for path, _ in self._listed(file_id.folder)])

    async def delete_expired(self, counted_before: datetime) -> None:
        """Delete all files that have expired, and the counts that were written before a time."""
        async for listed in obstore.list(self.store):
            paths = [
                str(each["path"])
                for each in listed
                if _is_expired(str(each["path"]).rpartition("/")[0])
                or (is_count(str(each["path"])) and each["last_modified"] < counted_before)
            ]
            await self._delete(paths)
        if isinstance(self.store, LocalStore) and self.store.prefix is not None:
            await to_thread(_delete_remains, Path(self.store.prefix))

    async def _delete(self, paths: list[str]) -> None:
        for path in paths:
            try:
                await obstore.delete_async(self.store, path)
            except FileNotFoundError:
                continue  # another process was faster

    async def _listed(self, folder: str) -> AsyncGenerator[tuple[str, int]]:
        async for listed in obstore.list(self.store, prefix=f"{folder}/"):
            for each in _items(listed):
                yield str(each["path"]), int(each["size"])


def _items(listed: Any) -> Iterator[Any]:
    yield from listed


def _is_expired(folder: str) -> bool:
    """Return whether the file in a folder has expired; False for folders of others."""
    owner, _, rest = folder.partition("/")
    file_id = FileId.parse(f"{owner}.{rest}")
    return file_id is not None and file_id.is_expired


def _delete_remains(root: Path) -> None:
    """Delete expired folders with files that their killed writers left incomplete.

    `obstore` does not list these.
    """
    for folder in root.glob("*/*"):
        if _is_expired(f"{folder.parent.name}/{folder.name}"):
            shutil.rmtree(folder, ignore_errors=True)


def _opened(place: str | Path | ObjectStore) -> ObjectStore:
    if isinstance(place, str) and "://" in place:
        return from_url(place)
    if isinstance(place, str | Path):
        folder = Path(place)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return LocalStore(folder, automatic_cleanup=True)
    return place
