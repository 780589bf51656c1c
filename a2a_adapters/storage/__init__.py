"""Where tasks, conversations and states live: in memory, in SQLite or in PostgreSQL, by URL."""

from __future__ import annotations

from a2a_adapters.storage.interface import AgentStorage, Storage
from a2a_adapters.storage.opening import open_storage

__all__ = ["AgentStorage", "Storage", "open_storage"]
