"""Counts the bytes of each owner's files, in the same place as the files."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass
from random import random
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import AlreadyExistsError

from a2a_adapters.concurrency import finished, in_background

if TYPE_CHECKING:
    from collections.abc import Iterable

    from obstore.store import ObjectStore

_SMALLEST = 64 * 1024
"""The minimum size counted for a file, so that many small files count as well."""

_SLOTS = 64
"""Number of times within a file's lifetime at which expired files stop counting."""

_KEPT = 16
"""Number of earlier counts that are kept, so that a slow process cannot write one again."""

_ATTEMPTS = 100
_PAUSE_SECONDS = 0.05
_FOLDER = "count"


class Quota:
    """The bytes of each owner's files, which other processes may count in the same place.

    The count of an owner is the object with the highest number in `<owner>/count`, which has the
    bytes by the time at which they expire. A change creates the next number, which fails if another
    process was faster. So the time of a change does not depend on the number of files.

    Args:
        store: The folder or bucket.
        most: Maximum number of bytes of an owner.
        seconds: Time after which files expire.
    """

    def __init__(self, store: ObjectStore, most: int, seconds: float) -> None:
        self._store = store
        self._most = most
        self._width = max(1, int(seconds) // _SLOTS)
        self._waiting: dict[object, list[_Change]] = {}

    def claim(self, owner: str, expires: int) -> Claim:
        """Return a claim of no bytes for a file of an owner, a digest."""
        return Claim(self, owner, -(-expires // self._width) * self._width)

    async def add(self, owner: str, expires: int, size: int) -> bool:
        """Count bytes until they expire if there is room for them; give them back if negative.

        Simultaneous changes of an owner are written together.
        """
        loop = asyncio.get_running_loop()
        change = _Change(expires, size, loop.create_future())
        key = loop, owner
        if (waiting := self._waiting.get(key)) is not None:
            waiting.append(change)
        else:
            self._waiting[key] = [change]
            in_background(self._write_all(key, owner))
        return await change.outcome

    async def _write_all(self, key: object, owner: str) -> None:
        try:
            while changes := self._waiting[key]:
                self._waiting[key] = []
                await self._write(owner, changes)
        finally:
            del self._waiting[key]

    async def _write(self, owner: str, changes: list[_Change]) -> None:
        try:
            granted = await self._decide(owner, changes)
        except Exception as error:  # each caller has to know
            for each in changes:
                if not each.outcome.done():
                    each.outcome.set_exception(error)
            return
        for each, is_granted in zip(changes, granted, strict=True):
            if not each.outcome.done():
                each.outcome.set_result(is_granted)

    async def _decide(self, owner: str, changes: list[_Change]) -> list[bool]:
        for _ in range(_ATTEMPTS):
            if (granted := await self._try_to_write(owner, changes)) is not None:
                return granted
            await asyncio.sleep(random() * _PAUSE_SECONDS)  # noqa: S311 - not a secret
        raise OSError("other processes count files of the same owner all the time")

    async def _try_to_write(self, owner: str, changes: Iterable[_Change]) -> list[bool] | None:
        """Write the next count of an owner, and return which changes are granted.

        Returns:
            None if another process was faster.
        """
        numbers = await self._numbers(owner)
        last = max(numbers, default=0)
        counted: dict[int, int] = {}
        if last:
            try:
                found = await obstore.get_async(self._store, _path(owner, last))
            except FileNotFoundError:
                return None
            now = time.time()
            stored = json.loads(bytes(await found.bytes_async()))
            counted = {int(end): size for end, size in stored.items() if int(end) > now}
        granted = []
        for each in changes:
            granted.append(each.size < 0 or sum(counted.values()) + each.size <= self._most)
            if granted[-1]:
                counted[each.expires] = max(0, counted.get(each.expires, 0) + each.size)
        if not any(granted):
            return granted
        path, body = _path(owner, last + 1), json.dumps(counted).encode()
        try:
            await obstore.put_async(self._store, path, body, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return None
        for number in numbers:
            if number <= last - _KEPT:
                await self._delete(_path(owner, number))
        if max(await self._numbers(owner), default=0) > last + _KEPT:  # this process was too slow
            await self._delete(path)
            return None
        return granted

    async def _numbers(self, owner: str) -> list[int]:
        names: list[str] = []
        async for listed in obstore.list(self._store, prefix=f"{owner}/{_FOLDER}/"):
            chunk: Any = listed
            names += [str(each["path"]).rpartition("/")[2] for each in chunk]
        return [int(name) for name in names if name.isdecimal()]

    async def _delete(self, path: str) -> None:
        try:
            await obstore.delete_async(self._store, path)
        except FileNotFoundError:
            return  # another process was faster


@dataclass(slots=True)
class _Change:
    """Bytes that are to be counted until they expire, or given back."""

    expires: int
    size: int
    outcome: asyncio.Future[bool]


class Claim:
    """The bytes that one file counts.

    Attributes:
        size: Their number.
    """

    def __init__(self, quota: Quota, owner: str, expires: int) -> None:
        self.size = 0
        self._quota = quota
        self._owner = owner
        self._expires = expires

    async def grow(self, size: int) -> bool:
        """Count at least this many bytes for the file; return False if there is no room."""
        size = max(size, _SMALLEST)
        return size <= self.size or await finished(self._resize(size))

    async def shrink(self, size: int) -> None:
        """Reduce the count to the size of the complete file, or to 0 if it is deleted."""
        size = max(size, _SMALLEST) if size else 0
        if size < self.size:
            await finished(self._resize(size))

    async def _resize(self, size: int) -> bool:
        if not await self._quota.add(self._owner, self._expires, size - self.size):
            return False
        self.size = size
        return True


_COUNT = re.compile(rf"[0-9a-f]{{32}}/{_FOLDER}/\d+", re.ASCII)


def is_count(path: str) -> bool:
    """Return whether an object is a count."""
    return _COUNT.fullmatch(path) is not None


def _path(owner: str, number: int) -> str:
    return f"{owner}/{_FOLDER}/{number}"
