"""One task, as OmniRoute's clients know it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic_core import from_json, to_json

from a2a_adapters_omniroute.serving.refusals import FAILED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

_UNREAD_CHARACTERS = 256 * 1024
"""How much of an answer may wait for its reader until its agent does."""

_FLAT_BYTES = 2048
"""What a task takes beside what was said."""

_FINISHED = frozenset({"completed", "failed", "cancelled"})


@dataclass(slots=True, kw_only=True)
class DialectTask:
    """A task and the news of it, from its beginning on.

    Attributes:
        owner: Whose it is.
        skill: What was asked.
        input: The parameters of the call, as JSON.
        is_read: Whether its caller reads the answer while it comes.
        run_seconds: How long it may take.
    """

    owner: str
    skill: str
    input: bytes
    run_seconds: float
    is_read: bool = False
    id: str = field(default_factory=lambda: str(uuid4()))
    state: str = ""
    artifacts: Sequence[Mapping[str, Any]] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    code: int = FAILED
    _events: list[dict[str, str]] = field(default_factory=list)
    _chunks: deque[Mapping[str, Any]] = field(default_factory=deque)
    _unread: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _taken: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.move("submitted")

    @property
    def is_finished(self) -> bool:
        """Whether its state can change no more."""
        return self.state in _FINISHED

    @property
    def size(self) -> int:
        """About how much memory it takes."""
        answer = sum(len(artifact["content"]) for artifact in self.artifacts)
        return _FLAT_BYTES + len(self.input) + answer + len(to_json(self.told))

    def move(self, state: str) -> None:
        """Change the state, unless it is a final one, and log that."""
        if self.state == state or self.is_finished:
            return
        self.state = state
        self._events.append({"timestamp": _iso(datetime.now(UTC)), "state": state})
        self._tell()

    def fail(self, error: str, code: int = FAILED, told: Mapping[str, Any] | None = None) -> None:
        """End the task without an answer; the code is what a caller who waits for it gets."""
        if not self.is_finished:
            self.error, self.code, self.told = error, code, told or {}
            self.move("failed")

    def complete(self, artifacts: Sequence[Mapping[str, Any]], told: Mapping[str, Any]) -> None:
        """End the task with its results and what is known about the call."""
        if not self.is_finished:
            self.artifacts, self.told = artifacts, told
            self.move("completed")

    async def say(self, chunk: Mapping[str, Any]) -> None:
        """Add a piece of the answer, when its reader has taken most of those before."""
        while self.is_read and self._unread > _UNREAD_CHARACTERS and not self.is_finished:
            self._taken.clear()
            await self._taken.wait()
        if self.is_read and not self.is_finished:
            self._chunks.append(chunk)
            self._unread += len(chunk["content"])
            self._tell()

    async def chunks(self, silence: float) -> AsyncGenerator[Mapping[str, Any] | None]:
        """Yield every piece of the answer once, and None after `silence` seconds without any."""
        try:
            while True:
                news = self._news
                while self._chunks:
                    chunk = self._chunks.popleft()
                    self._unread -= len(chunk["content"])
                    self._taken.set()
                    yield chunk
                if self.is_finished:
                    return
                try:
                    async with asyncio.timeout(silence):
                        await news.wait()
                except TimeoutError:
                    yield None
        finally:
            self.is_read = False
            self._chunks.clear()
            self._taken.set()

    async def finished(self) -> None:
        """Wait for the end."""
        while not self.is_finished:
            await self._news.wait()

    def brief(self) -> dict[str, str]:
        """Return what every answer says of the task."""
        return {"id": self.id, "state": self.state}

    def record(self) -> dict[str, Any]:
        """Return all that is known of the task."""
        created = self._events[0]["timestamp"]
        expires = datetime.fromisoformat(created) + timedelta(seconds=self.run_seconds)
        asked = from_json(self.input)
        metadata = asked.get("metadata")
        return {
            "id": self.id,
            "skill": self.skill,
            "state": self.state,
            "input": asked,
            "artifacts": self.artifacts,
            "events": self._events,
            "metadata": {
                **(metadata if isinstance(metadata, dict) else {}),
                **self.told,
                **({"error": self.error} if self.error else {}),
            },
            "createdAt": created,
            "updatedAt": self._events[-1]["timestamp"],
            "expiresAt": _iso(expires),
        }

    def _tell(self) -> None:
        self._taken.set()
        self._news.set()
        self._news = asyncio.Event()


def timestamp() -> str:
    """Return the time as the dialect writes it."""
    return _iso(datetime.now(UTC))


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
