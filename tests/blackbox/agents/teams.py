"""An AutoGen team that asks its caller after every draft."""

from __future__ import annotations

import asyncio
from typing import Any

from autogen_agentchat.agents import BaseChatAgent, UserProxyAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat

from tests.blackbox.journal import note


class Writer(BaseChatAgent):
    """Writes drafts about the key in the first message."""

    produced_message_types = (TextMessage,)

    def __init__(self) -> None:
        super().__init__("writer", "Writes.")
        self._key, self._drafts = "", 0

    async def on_messages(self, messages, cancellation_token):
        self._key = self._key or messages[0].content
        self._drafts += 1
        note(self._key, f"draft {self._drafts}")
        await asyncio.sleep(0.1)
        text = f"draft {self._drafts} of {self._key}"
        return Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_reset(self, cancellation_token):
        self._key, self._drafts = "", 0

    async def save_state(self) -> dict[str, Any]:
        return {"key": self._key, "drafts": self._drafts}

    async def load_state(self, state) -> None:
        self._key, self._drafts = state["key"], state["drafts"]


def team() -> RoundRobinGroupChat:
    """Write until the caller approves."""
    return RoundRobinGroupChat(
        [Writer(), UserProxyAgent("user")],
        termination_condition=TextMentionTermination("APPROVE", sources=["user"]),
    )
