"""Storage of tasks, conversations and state: in memory, SQLite or PostgreSQL, by URL."""

from __future__ import annotations

from a2a_adapters.storage.interface import AgentStorage, Storage
from a2a_adapters.storage.memory import open_storage

__all__ = ["AgentStorage", "Storage", "open_storage"]
