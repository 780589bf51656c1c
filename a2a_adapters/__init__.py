"""Serve agents of any framework over A2A, and call remote A2A agents.

`serve(target)` runs a server, `build_app(target)` returns an ASGI application, and
`as_executor(target)` plugs a target into an existing a2a-sdk server. `RemoteAgent(url)` calls an
agent.
"""

from __future__ import annotations

from importlib import import_module as _import_module
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
from a2a_adapters.concurrency import blocking
from a2a_adapters.concurrency.threads import ThreadPool, run_in_thread
from a2a_adapters.contract.adapter import (
    Adapter,
    AgentRequest,
    Asking,
    CancelFlag,
    Exchange,
    StateStorage,
    Turn,
    current_request,
)
from a2a_adapters.contract.caller import Caller
from a2a_adapters.contract.card import AgentDescription, Card, Extension, Provider, Skill
from a2a_adapters.contract.errors import (
    A2AAdaptersError,
    AccessDeniedError,
    AgentFailedError,
    BlockedError,
    ConfigurationError,
    ErrorCategory,
    ForbiddenError,
    ForbiddenUrlError,
    InvalidInputError,
    ListenError,
    MissingExtraError,
    NoAdapterError,
    ResumeError,
    TargetError,
    UnauthenticatedError,
    UnsafeHostError,
    model_failure,
)
from a2a_adapters.contract.events import (
    A2UI_EXTENSION,
    ANOTHER_TASK_WAITS,
    HELD_TEXT_EXTENSION,
    PROGRESS_EXTENSION,
    QUESTION_CLOSED,
    TIMESTAMP_EXTENSION,
    AgentEvent,
    AnswerText,
    AuthRequired,
    InputRequired,
    Output,
    Progress,
    ProgressEvent,
    Rejected,
    Reply,
    TaskMetadata,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from a2a_adapters.contract.factory import Factory, adapt_made
from a2a_adapters.contract.hooks import hookimpl, lazy_names
from a2a_adapters.contract.limits import Limits
from a2a_adapters.contract.parts import JSON, Data, File, Part, Text, dialogue
from a2a_adapters.contract.plugins import Plugins, PluginStatus, installed_plugins

if TYPE_CHECKING:
    from a2a_adapters_check import Finding, Report, Severity, check
    from a2a_adapters_jwt import JwtTokens, card_signer

    from a2a_adapters.calling.agent import ListedAgent, RemoteAgent
    from a2a_adapters.calling.auth import ApiKeyAuth, BearerAuth, HeadersAuth
    from a2a_adapters.calling.conversation import Conversation
    from a2a_adapters.calling.messenger import MessageInput
    from a2a_adapters.calling.options import AgentOptions, PushReceiver, RemoteOptions, SendOptions
    from a2a_adapters.calling.reply import (
        AgentReply,
        Question,
        RemoteArtifact,
        RemoteEvent,
        ReplyState,
    )
    from a2a_adapters.calling.task import RemoteTask
    from a2a_adapters.calling.tools import (
        LimitedWait,
        ToolDescription,
        ToolFactory,
        ToolInput,
        remote_llm,
        remote_tool,
        tool_answer,
    )
    from a2a_adapters.contract.checked import CheckedSpeech
    from a2a_adapters.contract.inputs import NamedInputs
    from a2a_adapters.contract.results import ToolCalls, as_output
    from a2a_adapters.contract.text import (
        ReasoningFilter,
        Speech,
        as_decision,
        as_json,
        as_text,
        tool_arguments,
        without_reasoning,
    )
    from a2a_adapters.executor.executor import AdapterExecutor
    from a2a_adapters.net import OutboundPolicy
    from a2a_adapters.runtime.push import PushOptions
    from a2a_adapters.security import AnyOf, ApiKeys, Authenticator, BearerTokens, ForwardedUser
    from a2a_adapters.serving.agents import as_executor
    from a2a_adapters.serving.app import build_app
    from a2a_adapters.serving.background import BackgroundServer, serve_in_background
    from a2a_adapters.serving.options import NamedTarget, ServerOptions
    from a2a_adapters.serving.server import aserve, serve, serve_runnable
    from a2a_adapters.storage.states import ConversationState, ProcessStates

__all__ = [
    "A2UI_EXTENSION", "ANOTHER_TASK_WAITS", "HELD_TEXT_EXTENSION", "JSON", "PROGRESS_EXTENSION",
    "QUESTION_CLOSED", "TIMESTAMP_EXTENSION", "A2AAdaptersError", "AccessDeniedError",
    "Adapter", "AdapterExecutor", "AgentDescription", "AgentEvent", "AgentFailedError",
    "AgentOptions", "AgentReply", "AgentRequest", "AnswerText", "AnyOf", "ApiKeyAuth",
    "ApiKeys", "Asking", "AuthRequired", "Authenticator", "BackgroundServer", "BearerAuth",
    "BearerTokens", "BlockedError", "Caller", "CancelFlag", "Card", "CardSignatureError",
    "CheckedSpeech",
    "ConfigurationError", "Conversation", "ConversationState", "Data", "ErrorCategory",
    "Exchange", "Extension", "Factory", "File", "Finding", "ForbiddenError",
    "ForbiddenUrlError", "ForwardedUser", "HeadersAuth", "InputRequired", "InvalidInputError",
    "JwtTokens", "LimitedWait", "Limits", "ListedAgent", "ListenError", "MessageInput",
    "MissingExtraError", "NamedInputs", "NamedTarget", "NoAdapterError", "OutboundPolicy",
    "Output", "Part", "PluginStatus", "Plugins", "ProcessStates", "Progress", "ProgressEvent",
    "Provider",
    "PushOptions", "PushReceiver", "Question", "ReasoningFilter", "Rejected", "RemoteAgent",
    "RemoteAgentError", "RemoteAnswerError", "RemoteArtifact", "RemoteAuthError",
    "RemoteConnectionError", "RemoteEvent", "RemoteOptions", "RemoteRefusedError", "RemoteTask",
    "RemoteTaskError", "RemoteTimeoutError", "Reply", "ReplyState", "Report", "ResumeError",
    "SendOptions", "ServerOptions", "Severity", "Skill", "Speech", "StateStorage",
    "TargetError", "TaskMetadata", "Text", "TextDelta", "ThreadPool", "TokenUsage", "ToolCall",
    "ToolCalls", "ToolDescription", "ToolFactory", "ToolInput", "ToolResult", "Turn",
    "UnauthenticatedError", "UnsafeHostError", "adapt_made", "as_decision", "as_executor",
    "as_json", "as_output", "as_text", "aserve", "blocking", "build_app", "card_signer",
    "check", "current_request", "dialogue", "hookimpl", "installed_plugins", "lazy_names",
    "model_failure", "remote_llm", "remote_tool", "run_in_thread", "serve",
    "serve_in_background", "serve_runnable", "tool_answer", "tool_arguments",
    "without_reasoning",
]  # fmt: skip

# Loaded on first use: they import a2a-sdk or httpx, which takes over a second.
_MODULES = {
    "calling.agent": "ListedAgent RemoteAgent",
    "calling.auth": "ApiKeyAuth BearerAuth HeadersAuth",
    "calling.conversation": "Conversation",
    "calling.messenger": "MessageInput",
    "calling.options": "AgentOptions PushReceiver RemoteOptions SendOptions",
    "calling.reply": "AgentReply Question RemoteArtifact RemoteEvent ReplyState",
    "calling.task": "RemoteTask",
    "calling.tools": "LimitedWait "
    "ToolDescription ToolFactory ToolInput remote_llm remote_tool tool_answer",
    "contract.checked": "CheckedSpeech",
    "contract.inputs": "NamedInputs",
    "contract.results": "ToolCalls as_output",
    "contract.text": "ReasoningFilter Speech as_decision as_json as_text tool_arguments "
    "without_reasoning",
    "executor.executor": "AdapterExecutor",
    "net": "OutboundPolicy",
    "runtime.push": "PushOptions",
    "security": "AnyOf ApiKeys Authenticator BearerTokens ForwardedUser",
    "serving.agents": "as_executor",
    "serving.app": "build_app",
    "serving.background": "BackgroundServer serve_in_background",
    "serving.options": "NamedTarget ServerOptions",
    "serving.server": "aserve serve serve_runnable",
    "storage.states": "ConversationState ProcessStates",
}
_load = lazy_names(
    __name__, {name: module for module, names in _MODULES.items() for name in names.split()}
)


_OF_PLUGINS = {
    **dict.fromkeys(("Finding", "Report", "Severity", "check"), "a2a_adapters_check"),
    **dict.fromkeys(("JwtTokens", "card_signer"), "a2a_adapters_jwt"),
}


def __getattr__(name: str) -> object:
    if name in _OF_PLUGINS:
        return getattr(_import_module(_OF_PLUGINS[name]), name)
    return _version("a2a-adapters") if name == "__version__" else _load(name)
