"""Answers of models, kept in memory to be given again to the same question."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from a2a_adapters_router.models import litellm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters_router.calls import Prompt
    from a2a_adapters_router.config import CacheConfig
    from a2a_adapters_router.deployment import Deployment

_WHOLE = frozenset({"stop", "tool_calls"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model has answered.

    Attributes:
        model: The `id` of its deployment.
        text: The text.
        data: The values of its data parts: tool calls.
        finish_reason: Why it ended, in OpenAI's words.
    """

    model: str
    text: str
    data: list[object]
    finish_reason: str


class Cache:
    """Keeps the answers of models in this process; agents may act, so theirs are not kept.

    Args:
        config: How long, how many, and whether callers share them.
    """

    def __init__(self, config: CacheConfig) -> None:
        litellm()  # sets its environment
        self._answers: Any = import_module("litellm.caching").InMemoryCache(
            max_size_in_memory=config.entries, default_ttl=config.seconds
        )
        self._is_shared = config.shared

    async def question(self, prompt: Prompt, max_tokens: int | None, owner: str) -> str:
        """Return a digest of all that decides about an answer except the model."""
        asker = "" if self._is_shared else owner
        asked = [asker, prompt.messages, prompt.params, max_tokens]
        return await asyncio.to_thread(_digest, asked)  # there may be megabytes of files

    def get(self, question: str, group: str, allowed: Sequence[Deployment]) -> Answer | None:
        """Return the answer of a group; None if none of the allowed deployments gave it."""
        kept = self._answers.get_cache(f"{question} {group}")
        answer = Answer(**kept) if kept else None
        return answer if answer and any(answer.model == each.id for each in allowed) else None

    def add(self, question: str, deployment: Deployment, answer: Answer) -> None:
        """Keep the answer of a deployment, unless it was cut short or is longer than a megabyte."""
        if answer.finish_reason in _WHOLE and deployment.agent is None:
            body = json.dumps(asdict(answer)).encode()  # litellm knows the size of bytes only
            self._answers.set_cache(f"{question} {deployment.model_name}", body)


def _digest(asked: Any) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
