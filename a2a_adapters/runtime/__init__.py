"""The runtime: an a2a-sdk `RequestHandler` that keeps one small object per live task."""

from __future__ import annotations

from a2a_adapters.runtime.handler import Runtime
from a2a_adapters.runtime.interface import StreamingHandler
from a2a_adapters.storage.memory import MemoryTaskStore

__all__ = ["MemoryTaskStore", "Runtime", "StreamingHandler"]
