"""The runtime: every operation of A2A on tasks that live in this process or are stored."""

from __future__ import annotations

from a2a_adapters.runtime.handler import Runtime
from a2a_adapters.runtime.interface import StreamingHandler
from a2a_adapters.storage.memory import MemoryTaskStore

__all__ = ["MemoryTaskStore", "Runtime", "StreamingHandler"]
