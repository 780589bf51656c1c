"""The interface of storages, the storage in memory, the journal of tasks, and quotas."""

from __future__ import annotations

from a2a_adapters.storage.interface import AgentStorage, Storage
from a2a_adapters.storage.memory import open_storage

__all__ = ["AgentStorage", "Storage", "open_storage"]
