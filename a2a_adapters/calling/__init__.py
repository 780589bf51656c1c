"""Remote agents: call any A2A agent, whatever it is made of."""

from __future__ import annotations

from a2a_adapters.calling.agent import (
    ListedAgent,
    MessageInput,
    RemoteAgent,
    remote_llm,
    remote_tool,
)
from a2a_adapters.calling.auth import ApiKeyAuth, BearerAuth, HeadersAuth
from a2a_adapters.calling.conversation import Conversation
from a2a_adapters.calling.options import AgentOptions, RemoteOptions, SendOptions
from a2a_adapters.calling.reply import (
    AgentReply,
    Question,
    RemoteArtifact,
    RemoteEvent,
    ReplyState,
    TokenUsage,
)
from a2a_adapters.calling.tools import ToolDescription, tool_answer

__all__ = [
    "AgentOptions",
    "AgentReply",
    "ApiKeyAuth",
    "BearerAuth",
    "Conversation",
    "HeadersAuth",
    "ListedAgent",
    "MessageInput",
    "Question",
    "RemoteAgent",
    "RemoteArtifact",
    "RemoteEvent",
    "RemoteOptions",
    "ReplyState",
    "SendOptions",
    "TokenUsage",
    "ToolDescription",
    "remote_llm",
    "remote_tool",
    "tool_answer",
]
