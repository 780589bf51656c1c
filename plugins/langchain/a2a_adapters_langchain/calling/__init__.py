"""Remote A2A agents as LangChain's own models, tools and runnables."""

from __future__ import annotations
