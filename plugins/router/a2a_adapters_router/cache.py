"""In-memory cache of models' answers."""

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
    """A cached answer of a model.

    Attributes:
        model: `id` of its deployment.
        text: The text.
        data: The values of its data parts: tool calls.
        finish_reason: OpenAI's finish reason.
    """

    model: str
    text: str
    data: list[object]
    finish_reason: str


class Cache:
    """Caches answers of models, but not of agents, which may have side effects.

    Args:
        config: Lifetime, size, and sharing between callers.
    """

    def __init__(self, config: CacheConfig) -> None:
        litellm()  # sets its environment
        self._answers: Any = import_module("litellm.caching").InMemoryCache(
            max_size_in_memory=config.entries, default_ttl=config.seconds
        )
        self._is_shared = config.shared

    async def question(self, prompt: Prompt, max_tokens: int | None, owner: str) -> str:
        """Return a digest of everything that determines an answer except the model."""
        asker = "" if self._is_shared else owner
        asked = [asker, prompt.messages, prompt.params, max_tokens]
        return await asyncio.to_thread(_digest, asked)  # files may have megabytes

    def get(self, question: str, group: str, allowed: Sequence[Deployment]) -> Answer | None:
        """Return a group's cached answer; None unless it came from an allowed deployment."""
        kept = self._answers.get_cache(f"{question} {group}")
        answer = Answer(**kept) if kept else None
        return answer if answer and any(answer.model == each.id for each in allowed) else None

    def add(self, question: str, deployment: Deployment, answer: Answer) -> None:
        """Cache the answer of a deployment unless it is truncated or larger than a megabyte."""
        if answer.finish_reason in _WHOLE and deployment.agent is None:
            body = json.dumps(asdict(answer)).encode()  # litellm measures only bytes
            self._answers.set_cache(f"{question} {deployment.model_name}", body)


def _digest(asked: Any) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
