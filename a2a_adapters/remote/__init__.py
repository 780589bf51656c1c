"""Remote agents: call any A2A agent, whatever it is made of."""

from __future__ import annotations

from a2a_adapters.remote.agent import MessageInput, RemoteAgent, RemoteEvent
from a2a_adapters.remote.auth import ApiKeyAuth, BearerAuth
from a2a_adapters.remote.conversation import Conversation
from a2a_adapters.remote.frameworks import remote_llm, remote_tool
from a2a_adapters.remote.options import RemoteOptions
from a2a_adapters.remote.reply import AgentReply, Question, RemoteArtifact, ReplyState
from a2a_adapters.remote.tools import ToolDescription

__all__ = [
    "AgentReply",
    "ApiKeyAuth",
    "BearerAuth",
    "Conversation",
    "MessageInput",
    "Question",
    "RemoteAgent",
    "RemoteArtifact",
    "RemoteEvent",
    "RemoteOptions",
    "ReplyState",
    "ToolDescription",
    "remote_llm",
    "remote_tool",
]
