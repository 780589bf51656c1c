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
    """A conversation while a run adds to it: what a run that fails has added is dropped.

    Args:
        key: The conversation. The SDK names it to model providers, by a digest.
        items: What was said before.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, key: ConversationKey, items: Sequence[TResponseInputItem]) -> None:
        self.session_id = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        self.items = list(items)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return what was said, or so much of its end."""
        return list(self.items) if limit is None else self.items[max(len(self.items) - limit, 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add to it."""
        self.items += items

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item back; None if there is none."""
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        """Forget everything."""
        self.items.clear()
