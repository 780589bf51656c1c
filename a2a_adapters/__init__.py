"""Serve agents of any framework over A2A, and call remote A2A agents.

`serve(target)` runs a server, `build_app(target)` returns an ASGI application, and
`as_executor(target)` plugs a target into an existing a2a-sdk server. `RemoteAgent(url)` calls an
agent. The building blocks of plugins are in `a2a_adapters.plugin`.
"""

from __future__ import annotations

from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from a2a_adapters.calling.errors import (
    CardSignatureError,
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
    RemoteTaskError,
    RemoteTimeoutError,
)
from a2a_adapters.contract.adapter import AgentRequest, Asking, current_request
from a2a_adapters.contract.caller import Caller
from a2a_adapters.contract.card import Card, Provider, Skill
from a2a_adapters.contract.errors import (
    A2AAdaptersError,
    AccessDeniedError,
    BlockedError,
    ConfigurationError,
    ForbiddenError,
    ForbiddenUrlError,
    InvalidInputError,
    ListenError,
    MissingExtraError,
    NoAdapterError,
    TargetError,
    UnauthenticatedError,
    UnsafeHostError,
)
from a2a_adapters.contract.events import (
    AgentEvent,
    AuthRequired,
    InputRequired,
    Output,
    Progress,
    Rejected,
    Reply,
    TaskMetadata,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from a2a_adapters.contract.hooks import lazy_names as _lazy_names
from a2a_adapters.contract.limits import Limits
from a2a_adapters.contract.parts import Data, File, Part, Text

if TYPE_CHECKING:
    from a2a_adapters.calling.agent import RemoteAgent
    from a2a_adapters.calling.auth import ApiKeyAuth, BearerAuth, HeadersAuth
    from a2a_adapters.calling.conversation import Conversation
    from a2a_adapters.calling.fleet import Fleet, RemoteSettings
    from a2a_adapters.calling.options import Interceptor, RemoteCall, RemoteOptions, SendOptions
    from a2a_adapters.calling.reply import (
        AgentReply,
        Question,
        RemoteArtifact,
        RemoteEvent,
        ReplyState,
    )
    from a2a_adapters.calling.task import RemoteTask
    from a2a_adapters.net import OutboundPolicy
    from a2a_adapters.runtime.push import PushOptions
    from a2a_adapters.security import AnyOf, ApiKeys, Authenticator, BearerTokens, ForwardedUser
    from a2a_adapters.serving.agents import as_executor
    from a2a_adapters.serving.app import build_app
    from a2a_adapters.serving.background import BackgroundServer, serve_in_background
    from a2a_adapters.serving.options import NamedTarget, ServerOptions
    from a2a_adapters.serving.server import aserve, serve, serve_runnable

__all__ = [
    "A2AAdaptersError", "AccessDeniedError", "AgentEvent", "AgentReply", "AgentRequest",
    "AnyOf", "ApiKeyAuth", "ApiKeys", "Asking", "AuthRequired", "Authenticator",
    "BackgroundServer", "BearerAuth", "BearerTokens", "BlockedError", "Caller", "Card",
    "CardSignatureError", "ConfigurationError", "Conversation", "Data", "File",
    "Fleet", "ForbiddenError", "ForbiddenUrlError", "ForwardedUser", "HeadersAuth", "InputRequired",
    "Interceptor", "InvalidInputError", "Limits", "ListenError", "MissingExtraError", "NamedTarget",
    "NoAdapterError", "OutboundPolicy", "Output", "Part", "Progress", "Provider", "PushOptions",
    "Question", "Rejected", "RemoteAgent", "RemoteAgentError", "RemoteAnswerError",
    "RemoteArtifact", "RemoteAuthError", "RemoteCall", "RemoteConnectionError", "RemoteEvent",
    "RemoteOptions", "RemoteRefusedError", "RemoteSettings", "RemoteTask", "RemoteTaskError",
    "RemoteTimeoutError", "Reply", "ReplyState", "SendOptions", "ServerOptions", "Skill",
    "TargetError", "TaskMetadata", "Text", "TextDelta", "TokenUsage", "ToolCall", "ToolResult",
    "UnauthenticatedError", "UnsafeHostError", "as_executor", "aserve", "build_app",
    "current_request", "serve", "serve_in_background", "serve_runnable",
]  # fmt: skip

# Loaded on first use: they import a2a-sdk or httpx, which takes over a second.
_MODULES = {
    "calling.agent": "RemoteAgent",
    "calling.auth": "ApiKeyAuth BearerAuth HeadersAuth",
    "calling.conversation": "Conversation",
    "calling.fleet": "Fleet RemoteSettings",
    "calling.options": "Interceptor RemoteCall RemoteOptions SendOptions",
    "calling.reply": "AgentReply Question RemoteArtifact RemoteEvent ReplyState",
    "calling.task": "RemoteTask",
    "net": "OutboundPolicy",
    "runtime.push": "PushOptions",
    "security": "AnyOf ApiKeys Authenticator BearerTokens ForwardedUser",
    "serving.agents": "as_executor",
    "serving.app": "build_app",
    "serving.background": "BackgroundServer serve_in_background",
    "serving.options": "NamedTarget ServerOptions",
    "serving.server": "aserve serve serve_runnable",
}
_load = _lazy_names(
    __name__, {name: module for module, names in _MODULES.items() for name in names.split()}
)


def __getattr__(name: str) -> object:
    return _version("a2a-adapters") if name == "__version__" else _load(name)
