"""Tasks in the format of OmniRoute's clients."""

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
"""Maximum unread size of an answer before its agent is paused."""

_FLAT_BYTES = 2048
"""Memory overhead of a task in bytes."""

_FINISHED = frozenset({"completed", "failed", "cancelled"})


@dataclass(slots=True, kw_only=True)
class DialectTask:
    """A task and its output.

    Attributes:
        owner: Name of the caller.
        skill: The requested skill.
        input: The parameters of the call, as JSON.
        is_read: Whether its caller reads the answer as a stream.
        run_seconds: Time limit.
    """

    owner: str
    skill: str
    input: bytes
    run_seconds: float
    is_read: bool = False
    id: str = field(default_factory=lambda: str(uuid4()))
    state: str = ""
    artifacts: Sequence[Mapping[str, Any]] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
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
        """Whether its state is final."""
        return self.state in _FINISHED

    @property
    def size(self) -> int:
        """Approximate memory usage in bytes."""
        answer = sum(len(artifact["content"]) for artifact in self.artifacts)
        return _FLAT_BYTES + len(self.input) + answer + len(to_json(self.metadata))

    def move(self, state: str) -> None:
        """Change the state unless it is final, and record the change."""
        if self.state == state or self.is_finished:
            return
        self.state = state
        self._events.append({"timestamp": _iso(datetime.now(UTC)), "state": state})
        self._notify()

    def fail(
        self, error: str, code: int = FAILED, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """End the task without an answer; waiting callers get the code."""
        if not self.is_finished:
            self.error, self.code, self.metadata = error, code, metadata or {}
            self.move("failed")

    def complete(self, artifacts: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> None:
        """End the task with its results and metadata."""
        if not self.is_finished:
            self.artifacts, self.metadata = artifacts, metadata
            self.move("completed")

    async def say(self, chunk: Mapping[str, Any]) -> None:
        """Add a chunk of the answer, waiting for a slow reader."""
        while self.is_read and self._unread > _UNREAD_CHARACTERS and not self.is_finished:
            self._taken.clear()
            await self._taken.wait()
        if self.is_read and not self.is_finished:
            self._chunks.append(chunk)
            self._unread += len(chunk["content"])
            self._notify()

    async def chunks(self, silence: float) -> AsyncGenerator[Mapping[str, Any] | None]:
        """Yield each chunk of the answer once, and None after `silence` seconds without one."""
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
        """Wait for the end of the task."""
        while not self.is_finished:
            await self._news.wait()

    def brief(self) -> dict[str, str]:
        """Return the short form of the task."""
        return {"id": self.id, "state": self.state}

    def record(self) -> dict[str, Any]:
        """Return the complete form of the task."""
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
                **self.metadata,
                **({"error": self.error} if self.error else {}),
            },
            "createdAt": created,
            "updatedAt": self._events[-1]["timestamp"],
            "expiresAt": _iso(expires),
        }

    def _notify(self) -> None:
        self._taken.set()
        self._news.set()
        self._news = asyncio.Event()


def timestamp() -> str:
    """Return the current time in the dialect's format."""
    return _iso(datetime.now(UTC))


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
