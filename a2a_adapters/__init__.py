"""Serve what you have as an A2A agent, in one line, and call any other.

`serve(target)` runs a server; `build_app(target)` returns it as an ASGI application;
`as_executor(target)` is for people who already have an a2a-sdk server. `RemoteAgent(url)` calls
an agent.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

from a2a_adapters.adapter import (
    Adapter,
    AgentDescription,
    AgentRequest,
    CancelFlag,
    Extension,
    Skill,
    Turn,
)
from a2a_adapters.errors import (
    A2AAdaptersError,
    AccessDeniedError,
    ConfigurationError,
    ForbiddenError,
    ForbiddenUrlError,
    InvalidInputError,
    MissingExtraError,
    NoAdapterError,
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
    RemoteTaskError,
    RemoteTimeoutError,
    TargetError,
    UnauthenticatedError,
    UnsafeHostError,
)
from a2a_adapters.events import (
    PROGRESS_EXTENSION,
    AgentEvent,
    AuthRequired,
    InputRequired,
    Output,
    Progress,
    ProgressEvent,
    Rejected,
    Reply,
    TaskMetadata,
    TextDelta,
    ToolCall,
    ToolResult,
)
from a2a_adapters.hookspecs import hookimpl
from a2a_adapters.limits import Limits
from a2a_adapters.parts import JSON, Data, File, Part, Text
from a2a_adapters.plugins import Plugins, PluginStatus, installed_plugins
from a2a_adapters.threads import run_in_thread

if TYPE_CHECKING:
    from a2a_adapters.agents import as_executor
    from a2a_adapters.app import build_app
    from a2a_adapters.executor import AdapterExecutor
    from a2a_adapters.options import ServerOptions
    from a2a_adapters.outbound import OutboundPolicy
    from a2a_adapters.push import PushOptions
    from a2a_adapters.remote import (
        AgentReply,
        ApiKeyAuth,
        BearerAuth,
        Conversation,
        MessageInput,
        Question,
        RemoteAgent,
        RemoteArtifact,
        RemoteEvent,
        RemoteOptions,
        ReplyState,
        ToolDescription,
        remote_llm,
        remote_tool,
    )
    from a2a_adapters.security import AnyOf, ApiKeys, Authenticator, BearerTokens, JwtTokens
    from a2a_adapters.server import serve, serve_runnable
    from a2a_adapters.signing import card_signer

__all__ = [
    "JSON",
    "PROGRESS_EXTENSION",
    "A2AAdaptersError",
    "AccessDeniedError",
    "Adapter",
    "AdapterExecutor",
    "AgentDescription",
    "AgentEvent",
    "AgentReply",
    "AgentRequest",
    "AnyOf",
    "ApiKeyAuth",
    "ApiKeys",
    "AuthRequired",
    "Authenticator",
    "BearerAuth",
    "BearerTokens",
    "CancelFlag",
    "ConfigurationError",
    "Conversation",
    "Data",
    "Extension",
    "File",
    "ForbiddenError",
    "ForbiddenUrlError",
    "InputRequired",
    "InvalidInputError",
    "JwtTokens",
    "Limits",
    "MessageInput",
    "MissingExtraError",
    "NoAdapterError",
    "OutboundPolicy",
    "Output",
    "Part",
    "PluginStatus",
    "Plugins",
    "Progress",
    "ProgressEvent",
    "PushOptions",
    "Question",
    "Rejected",
    "RemoteAgent",
    "RemoteAgentError",
    "RemoteAnswerError",
    "RemoteArtifact",
    "RemoteAuthError",
    "RemoteConnectionError",
    "RemoteEvent",
    "RemoteOptions",
    "RemoteRefusedError",
    "RemoteTaskError",
    "RemoteTimeoutError",
    "Reply",
    "ReplyState",
    "ServerOptions",
    "Skill",
    "TargetError",
    "TaskMetadata",
    "Text",
    "TextDelta",
    "ToolCall",
    "ToolDescription",
    "ToolResult",
    "Turn",
    "UnauthenticatedError",
    "UnsafeHostError",
    "as_executor",
    "build_app",
    "card_signer",
    "hookimpl",
    "installed_plugins",
    "remote_llm",
    "remote_tool",
    "run_in_thread",
    "serve",
    "serve_runnable",
]

# These import the server half of a2a-sdk or httpx, which costs over a second: loaded on first use.
_LAZY = {
    "AdapterExecutor": "a2a_adapters.executor",
    "AnyOf": "a2a_adapters.security",
    "ApiKeys": "a2a_adapters.security",
    "Authenticator": "a2a_adapters.security",
    "BearerTokens": "a2a_adapters.security",
    "JwtTokens": "a2a_adapters.security",
    "AgentReply": "a2a_adapters.remote",
    "ApiKeyAuth": "a2a_adapters.remote",
    "BearerAuth": "a2a_adapters.remote",
    "Conversation": "a2a_adapters.remote",
    "MessageInput": "a2a_adapters.remote",
    "OutboundPolicy": "a2a_adapters.outbound",
    "Question": "a2a_adapters.remote",
    "PushOptions": "a2a_adapters.push",
    "RemoteAgent": "a2a_adapters.remote",
    "RemoteArtifact": "a2a_adapters.remote",
    "RemoteEvent": "a2a_adapters.remote",
    "RemoteOptions": "a2a_adapters.remote",
    "ReplyState": "a2a_adapters.remote",
    "ServerOptions": "a2a_adapters.options",
    "ToolDescription": "a2a_adapters.remote",
    "as_executor": "a2a_adapters.agents",
    "build_app": "a2a_adapters.app",
    "card_signer": "a2a_adapters.signing",
    "remote_llm": "a2a_adapters.remote",
    "remote_tool": "a2a_adapters.remote",
    "serve": "a2a_adapters.server",
    "serve_runnable": "a2a_adapters.server",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version("a2a-adapters")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
