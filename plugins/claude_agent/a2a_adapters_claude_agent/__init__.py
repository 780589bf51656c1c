"""Serves agents of the Claude Agent SDK, and gives them remote agents as tools.

`serve(ClaudeAgentOptions(...))` works without an import from here. For options of the server, wrap
those of the agent:

    from a2a_adapters_claude_agent import adapt

    serve(adapt(ClaudeAgentOptions(cwd="/srv/work"), name="Coder", processes=4))

In the other direction, `a2a_tool` makes a remote agent a tool of an in-process MCP server.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, cast

from a2a_adapters import TargetError
from a2a_adapters.plugin import example_of, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_claude_agent.calling.tool import a2a_tool
    from a2a_adapters_claude_agent.serving.adapter import ClaudeAgentAdapter, adapt

__all__ = ["ClaudeAgentAdapter", "a2a_tool", "adapt"]

_EXTRA = "claude"
_DISTRIBUTION = "claude-agent-sdk"

# Loaded on first use, because importing the framework takes a second.
__getattr__ = lazy_names(
    __name__,
    {
        "a2a_tool": "calling.tool",
        "adapt": "serving.adapter",
        "ClaudeAgentAdapter": "serving.adapter",
    },
    frameworks=("claude_agent_sdk",),
    extra=_EXTRA,
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap the options of an agent, or a function that makes them for every run.

    Raises:
        TargetError: It is a client, which holds one conversation.
    """
    # Options can only exist if the framework is imported already.
    framework = sys.modules.get("claude_agent_sdk")
    if framework is None:
        return None
    example = example_of(target)
    if isinstance(example, framework.ClaudeSDKClient):
        raise TargetError("a ClaudeSDKClient holds one conversation: serve its options")
    if isinstance(example, framework.ClaudeAgentOptions):
        return cast("Adapter", __getattr__("adapt")(target))
    return None


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "ClaudeAgentOptions, or a function that makes them"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return [_DISTRIBUTION]


@hookimpl
def a2a_prepare_process() -> None:
    """Switch off a warning about tools that are allowed: callers are asked about the others."""
    warnings.filterwarnings("ignore", "can_use_tool will not be invoked")


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("a2a_tool")(agent) if framework in {_EXTRA, _DISTRIBUTION} else None
