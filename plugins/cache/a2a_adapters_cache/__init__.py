"""Caches the answers of agents that always answer a message in the same way."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from threading import Lock
from typing import TYPE_CHECKING

from pydantic_core import to_json

from a2a_adapters import File
from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.plugin import blocking, check_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a_adapters import AgentReply, RemoteAgent
    from a2a_adapters.plugin import JSON, MessageInput

__all__ = ["AnswerCache"]


class AnswerCache:
    """Sends messages to an agent, and keeps its complete answers for a while.

    The same message with the same metadata and skill gets the cached answer. Messages that refer to
    a file by its URL or path always reach the agent, because the file may change.

    Args:
        agent: The agent. Its answers must depend on nothing but the message and the user.
        user: Returns the user for whom a call is made, in the caller's context: no user gets the
            answer to another user. None if all calls have the credentials of one user.
        seconds: Time after which an answer is forgotten.
        answers: Maximum number of answers.
    """

    def __init__(
        self,
        agent: RemoteAgent,
        *,
        user: Callable[[], str] | None,
        seconds: float = 300,
        answers: int = 1_000,
    ) -> None:
        check_arguments(AnswerCache, locals(), {"answers"})
        self._agent = agent
        self._user = user or str
        self._lock = Lock()
        self._answers: BoundedMap[bytes, AgentReply] = BoundedMap(answers, seconds)

    async def send(
        self,
        message: MessageInput,
        *,
        metadata: Mapping[str, JSON] | None = None,
        skill: str | None = None,
    ) -> AgentReply:
        """Return a cached answer, or send the message, which begins a conversation.

        Raises:
            InvalidInputError: The message cannot be encoded.
            RemoteAgentError: As `RemoteAgent.send`; failures are not kept.
        """
        if _may_change(message):
            return await self._agent.send(message, metadata=metadata, skill=skill)
        asked = to_json([self._user(), message, metadata, skill], bytes_mode="base64")
        key = hashlib.sha256(asked).digest()
        with self._lock:
            known = self._answers.get(key)
        if known is not None:
            return deepcopy(known)
        reply = await self._agent.send(message, metadata=metadata, skill=skill)
        if reply.state == "completed":
            with self._lock:
                self._answers[key] = deepcopy(reply)
        return reply

    send_sync = blocking.running(send)


def _may_change(message: MessageInput) -> bool:
    """Return whether a message refers to a file that it does not contain."""
    if isinstance(message, str):
        return False
    parts = message if isinstance(message, list | tuple) else [message]
    return any(isinstance(part, File) and part.content is None for part in parts)
