"""Which conversation a call belongs to, as LangChain's configuration tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.runnables.config import ensure_config

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

THREAD = "thread_id"


def thread_of(config: RunnableConfig | None) -> str | None:
    """Return `config["configurable"]["thread_id"]`, of the surrounding run if need be."""
    thread = ensure_config(config).get("configurable", {}).get(THREAD)
    return None if thread is None else str(thread)


def with_thread(kwargs: dict[str, Any], config: RunnableConfig | None) -> dict[str, Any]:
    """Return a model's call arguments with the thread among them, for models see no config."""
    thread = thread_of(config)
    return kwargs if thread is None else {THREAD: thread, **kwargs}
