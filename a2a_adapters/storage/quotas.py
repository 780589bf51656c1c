"""What owners take at all processes together, bytes and requests: told with each renewal."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class SharedRoom(Protocol):
    """What the callers of one agent take at one process."""

    others: Mapping[str, int]
    """What each owner takes at the other processes."""

    def shares(self) -> Mapping[str, int]:
        """Return what those owners take here who take much."""


class Quotas:
    """The rooms of all agents of a process."""

    def __init__(self) -> None:
        self._rooms: dict[str, SharedRoom] = {}

    def share(self, name: str, room: SharedRoom) -> None:
        """Have a room know what owners take elsewhere, and others what they take there."""
        self._rooms[name] = room

    def to_json(self) -> str:
        """Return what is told the other processes."""
        return json.dumps({agent: dict(room.shares()) for agent, room in self._rooms.items()})

    def hear(self, told: Iterable[str]) -> None:
        """Take down what the other processes tell."""
        heard = [json.loads(text) for text in told]
        for agent, room in self._rooms.items():
            others: Counter[str] = Counter()
            for process in heard:
                others.update(process.get(agent, {}))
            room.others = others
