"""The session of one run."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents import SessionSettings, TResponseInputItem

    from a2a_adapters_openai_agents.serving.memory import ConversationKey


class RunSession:
    """The conversation of one run. The items of a failed run are dropped.

    Args:
        key: The conversation. The SDK names it to model providers, by a digest.
        items: The items before the run.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, key: ConversationKey, items: Sequence[TResponseInputItem]) -> None:
        self.session_id = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        self.items = list(items)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return all items, or the last `limit`."""
        return list(self.items) if limit is None else self.items[max(len(self.items) - limit, 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items."""
        self.items += items

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove and return the last item, if any."""
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        """Remove all items."""
        self.items.clear()
