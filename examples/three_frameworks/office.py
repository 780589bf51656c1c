"""An AutoGen team of the remote guide and a clerk, who asks who will travel."""

from __future__ import annotations

import os
import re

from a2a_adapters_autogen import A2AAgent, adapt
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.conditions import HandoffTermination, TextMentionTermination
from autogen_agentchat.messages import HandoffMessage, ModelClientStreamingChunkEvent, TextMessage
from autogen_agentchat.teams import SelectorGroupChat
from autogen_ext.models.replay import ReplayChatCompletionClient

from a2a_adapters import RemoteAgent

guide = RemoteAgent(os.environ["GUIDE_URL"])


class Clerk(BaseChatAgent):
    """Asks who will travel, and books."""

    produced_message_types = (TextMessage, HandoffMessage)
    received: tuple[str, ...] = ()

    async def on_messages_stream(self, messages, _):
        self.received += tuple(message.to_text() for message in messages)
        if len(self.received) == 2:
            ask = HandoffMessage(content="For whom?", target="user", source=self.name)
            yield Response(chat_message=ask)
            return
        city, sight, name = self.received
        text = f"Booked {city} for {name}. Do not miss {sight}."
        for word in re.findall(r"\S+\s*", text):
            yield ModelClientStreamingChunkEvent(content=word, source=self.name)
        yield Response(chat_message=TextMessage(content=text, source=self.name))

    async def on_messages(self, messages, cancellation_token):
        events = self.on_messages_stream(messages, cancellation_token)
        return [event async for event in events][-1]

    async def on_reset(self, _):
        self.received = ()

    async def save_state(self):
        return {"received": self.received}

    async def load_state(self, state):
        self.received = tuple(state["received"])


def make_team() -> SelectorGroupChat:
    return SelectorGroupChat(
        [A2AAgent("guide", guide), Clerk("clerk", "Books trips.")],
        model_client=ReplayChatCompletionClient([]),  # unused: a function chooses
        selector_func=lambda said: "guide" if len(said) == 1 else "clerk",
        termination_condition=HandoffTermination("user") | TextMentionTermination("Booked"),
    )


team = adapt(make_team, final="all")
