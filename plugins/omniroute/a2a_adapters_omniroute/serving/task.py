"""One task, as OmniRoute's clients know it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a_adapters_omniroute.serving.refusals import FAILED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

_FINISHED = frozenset({"completed", "failed", "cancelled"})


@dataclass(slots=True, kw_only=True)
class DialectTask:
    """A task and the news of it, from its beginning on.

    Attributes:
        owner: Whose it is.
        skill: What was asked.
        input: The parameters of the call.
        run_seconds: How long it may take.
    """

    owner: str
    skill: str
    input: Mapping[str, Any]
    run_seconds: float
    id: str = field(default_factory=lambda: str(uuid4()))
    state: str = ""
    artifacts: Sequence[Mapping[str, Any]] = ()
    told: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    code: int = FAILED
    _events: list[dict[str, str]] = field(default_factory=list)
    _chunks: list[Mapping[str, Any]] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.move("submitted")

    @property
    def is_finished(self) -> bool:
        """Whether its state can change no more."""
        return self.state in _FINISHED

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

    def say(self, chunk: Mapping[str, Any]) -> None:
        """Add a piece of the answer."""
        if not self.is_finished:
            self._chunks.append(chunk)
            self._tell()

    async def chunks(self, silence: float) -> AsyncGenerator[Mapping[str, Any] | None]:
        """Yield every piece of the answer, and None after `silence` seconds without any."""
        sent = 0
        while True:
            news = self._news
            while sent < len(self._chunks):
                yield self._chunks[sent]
                sent += 1
            if self.is_finished:
                return
            try:
                async with asyncio.timeout(silence):
                    await news.wait()
            except TimeoutError:
                yield None

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
        metadata = self.input.get("metadata")
        return {
            "id": self.id,
            "skill": self.skill,
            "state": self.state,
            "input": self.input,
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
        self._news.set()
        self._news = asyncio.Event()


def timestamp() -> str:
    """Return the time as the dialect writes it."""
    return _iso(datetime.now(UTC))


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
