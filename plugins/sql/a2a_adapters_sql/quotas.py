"""Shares the usage of owners with the other processes, at each renewal of the lease."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_adapters.storage.interface import SharedQuota


class Quotas:
    """The shared quotas of all agents of a process."""

    def __init__(self) -> None:
        self._quotas: dict[str, SharedQuota] = {}

    def share(self, name: str, quota: SharedQuota) -> None:
        """Exchange the usage of a quota with the other processes."""
        self._quotas[name] = quota

    def to_json(self) -> str:
        """Return the usage here, for the other processes."""
        return json.dumps({name: dict(quota.shares()) for name, quota in self._quotas.items()})

    def update(self, received: Iterable[str]) -> None:
        """Take over the usage at the other processes."""
        processes = [json.loads(text) for text in received]
        for name, quota in self._quotas.items():
            others: Counter[str] = Counter()
            for process in processes:
                others.update(process.get(name, {}))
            quota.others = others
