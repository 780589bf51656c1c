"""Building blocks for plugins: adapters of frameworks, and classes that call agents from them.

An `Adapter` serves a target and yields `AgentEvent`s; `hookimpl` marks the hooks by which a plugin
is found. `ToolFactory`, `ToolDescription` and `tool_answer` make tools of remote agents. Plugins of
another wire protocol find their building blocks in `a2a_adapters.dialects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.concurrency import blocking
from a2a_adapters.concurrency.threads import ThreadPool, run_in_thread
from a2a_adapters.contract.adapter import (
    Adapter,
    CancelFlag,
    Exchange,
    StateStorage,
    Turn,
)
from a2a_adapters.contract.card import ANY_MODES, AgentDescription, Extension
from a2a_adapters.contract.checking import check_arguments, check_fields
from a2a_adapters.contract.errors import (
    AgentFailedError,
    ErrorCategory,
    ResumeError,
    model_failure,
)
from a2a_adapters.contract.events import (
    A2UI_EXTENSION,
    ANOTHER_TASK_WAITS,
    HELD_TEXT_EXTENSION,
    PROGRESS_EXTENSION,
    QUESTION_CLOSED,
    TIMESTAMP_EXTENSION,
    AnswerText,
    ProgressEvent,
)
from a2a_adapters.contract.factory import Factory, MadeAnew, adapt_made, example_of, per_request
from a2a_adapters.contract.hooks import hookimpl, lazy_names
from a2a_adapters.contract.parts import JSON, dialogue
from a2a_adapters.contract.plugins import Plugins, PluginStatus, installed_plugins

if TYPE_CHECKING:
    from a2a_adapters.calling.agent import ListedAgent
    from a2a_adapters.calling.fleet import AnyFleet, Toolkit
    from a2a_adapters.calling.messenger import MessageInput
    from a2a_adapters.calling.options import AgentOptions, PushReceiver
    from a2a_adapters.calling.tools import (
        FleetMember,
        LimitedWait,
        StatelessTool,
        StatelessToolInput,
        ToolDescription,
        ToolFactory,
        ToolInput,
        remote_llm,
        remote_tool,
        tool_answer,
    )
    from a2a_adapters.contract.checked import CheckedSpeech
    from a2a_adapters.contract.copies import Copies, SavedAttributes
    from a2a_adapters.contract.inputs import NamedInputs
    from a2a_adapters.contract.overriding import overrides
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
    from a2a_adapters.storage.conversation_state import ConversationState
    from a2a_adapters.storage.memory import ProcessStates

__all__ = [
    "A2UI_EXTENSION", "ANOTHER_TASK_WAITS", "ANY_MODES", "HELD_TEXT_EXTENSION", "JSON",
    "PROGRESS_EXTENSION", "QUESTION_CLOSED", "TIMESTAMP_EXTENSION", "Adapter", "AdapterExecutor",
    "AgentDescription", "AgentFailedError", "AgentOptions", "AnswerText", "AnyFleet", "CancelFlag",
    "CheckedSpeech", "ConversationState", "Copies", "ErrorCategory", "Exchange", "Extension",
    "Factory", "FleetMember", "LimitedWait", "ListedAgent", "MadeAnew", "MessageInput",
    "NamedInputs", "PluginStatus", "Plugins", "ProcessStates", "ProgressEvent", "PushReceiver",
    "ReasoningFilter", "ResumeError", "SavedAttributes", "Speech", "StateStorage", "StatelessTool",
    "StatelessToolInput", "ThreadPool", "ToolCalls", "ToolDescription", "ToolFactory", "ToolInput",
    "Toolkit", "Turn", "adapt_made", "as_decision", "as_json", "as_output", "as_text", "blocking",
    "check_arguments", "check_fields", "dialogue", "example_of", "hookimpl", "installed_plugins",
    "lazy_names", "model_failure", "overrides", "per_request", "remote_llm", "remote_tool",
    "run_in_thread", "tool_answer", "tool_arguments", "without_reasoning",
]  # fmt: skip

# Loaded on first use: they import a2a-sdk or httpx, which takes over a second.
_MODULES = {
    "calling.agent": "ListedAgent",
    "calling.fleet": "AnyFleet Toolkit",
    "calling.messenger": "MessageInput",
    "calling.options": "AgentOptions PushReceiver",
    "calling.tools": "FleetMember LimitedWait StatelessTool StatelessToolInput "
    "ToolDescription ToolFactory ToolInput remote_llm remote_tool tool_answer",
    "contract.checked": "CheckedSpeech",
    "contract.copies": "Copies SavedAttributes",
    "contract.inputs": "NamedInputs",
    "contract.overriding": "overrides",
    "contract.results": "ToolCalls as_output",
    "contract.text": "ReasoningFilter Speech as_decision as_json as_text tool_arguments "
    "without_reasoning",
    "executor.executor": "AdapterExecutor",
    "storage.memory": "ProcessStates",
    "storage.conversation_state": "ConversationState",
}
__getattr__ = lazy_names(
    "a2a_adapters", {name: module for module, names in _MODULES.items() for name in names.split()}
)
