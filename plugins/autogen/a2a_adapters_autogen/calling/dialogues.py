"""Finds the conversation to which a list of messages belongs.

AutoGen gives a model all messages every time, and no name of the conversation. So what was said
is the name: if the messages begin with those of an earlier call and its answer, they go on with
that conversation, and the agent is sent the new ones only.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from autogen_core.models import AssistantMessage, LLMMessage
from pydantic_core import to_json

from a2a_adapters.concurrency import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters import Conversation, RemoteAgent

_LIMIT = 10_000


class Dialogues:
    """The conversations of one model client, by what was said in them.

    Each is gone on with once: a second call with the same messages is another conversation. Two
    in which word for word the same was said cannot be told apart; neither is gone on with, and
    the agent is sent all messages anew.
    """

    def __init__(self, agent: RemoteAgent) -> None:
        self._agent = agent
        self._by_words: BoundedMap[str, Conversation | None] = BoundedMap(_LIMIT)

    def take(self, messages: Sequence[LLMMessage]) -> tuple[Conversation, Sequence[LLMMessage]]:
        """Return the conversation, and the messages that its agent does not know yet."""
        digests = _digests(messages)
        for position in range(len(messages) - 1, 0, -1):
            if not isinstance(messages[position - 1], AssistantMessage):
                continue
            if conversation := self._by_words.get(digests[position - 1]):
                self._by_words.pop(digests[position - 1])
                return conversation, messages[position:]
        return self._agent.conversation(), messages

    def keep(self, conversation: Conversation, messages: Sequence[LLMMessage], answer: str) -> None:
        """Remember what was said in a conversation, if the agent keeps one."""
        if not conversation.context_id:
            return
        said = [*messages, AssistantMessage(content=answer, source="")]
        words = _digests(said)[-1]
        is_known = words in self._by_words
        self._by_words[words] = None if is_known else conversation


def _digests(messages: Sequence[LLMMessage]) -> list[str]:
    """Return a name for the messages up to each."""
    digest = hashlib.sha256()
    names = []
    for message in messages:
        # The agent's own words have whatever source and thought the local agent gives them.
        own = isinstance(message, AssistantMessage)
        words = message.content if own else message.model_dump(mode="json")
        digest.update(to_json([message.type, words]))
        names.append(digest.hexdigest())
    return names
