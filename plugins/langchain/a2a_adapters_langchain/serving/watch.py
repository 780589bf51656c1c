"""Watches a run: adds up its token usage and stops its threads after a cancel."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.outputs import ChatGeneration

from a2a_adapters import JSON, AgentEvent, CancelFlag, TaskMetadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from langchain_core.outputs import LLMResult


class RunWatch(BaseCallbackHandler):
    """One run's callback handler.

    Cancelling an asyncio task does not reach code in threads. That code meets this handler at
    its next token or step, which then raises in place of going on.
    """

    run_inline = True  # a handler that is not gets a thread for every token

    def __init__(self, cancelled: CancelFlag, usage: Mapping[str, JSON] | None = None) -> None:
        self._cancelled = cancelled
        # Threads append, which is atomic; the sum is made by whoever asks.
        self._usages = [cast("UsageMetadata", dict(usage))] if usage else []

    @property
    def usage(self) -> UsageMetadata | None:
        """The usage of all model calls so far; None if no model told."""
        total: UsageMetadata | None = None
        for usage in self._usages:
            total = add_usage(total, usage)
        return total

    def count(self, usages: Iterable[UsageMetadata]) -> None:
        """Take the usage of model calls that another process has made for this run."""
        self._usages += usages

    def metadata(self) -> list[AgentEvent]:
        """Return the usage as an event, if there is any."""
        return [TaskMetadata({"usage": cast("JSON", usage)})] if (usage := self.usage) else []

    def on_llm_new_token(self, *_: Any, **__: Any) -> None:
        """Stop a model that streams in a thread."""
        if self._cancelled:
            raise asyncio.CancelledError

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Take one model call's usage."""
        generation = response.generations[0][0] if response.generations[0] else None
        if isinstance(generation, ChatGeneration):
            usage = getattr(generation.message, "usage_metadata", None)
            if usage is not None:
                self._usages.append(usage)

    def on_chain_start(self, *_: Any, **__: Any) -> None:
        """Stop before the next step."""
        self._stop_if_cancelled()

    def on_chat_model_start(self, *_: Any, **__: Any) -> None:
        """Stop before the next model call."""
        self._stop_if_cancelled()

    def on_tool_start(self, *_: Any, **__: Any) -> None:
        """Stop before the next tool."""
        self._stop_if_cancelled()

    def _stop_if_cancelled(self) -> None:
        if self._cancelled:
            raise asyncio.CancelledError
