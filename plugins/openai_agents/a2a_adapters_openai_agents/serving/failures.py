"""Recognises failures: errors that end a run, and failed tool calls."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents import (
    InputGuardrailTripwireTriggered,
    ModelRefusalError,
    OutputGuardrailTripwireTriggered,
    RunContextWrapper,
    ToolCallOutputItem,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
    ToolTimeoutError,
    UserError,
    default_tool_error_function,
)

from a2a_adapters import BlockedError
from a2a_adapters.plugin import AgentFailedError, model_failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agents import Agent
    from agents.mcp import MCPToolCustomDataContext
    from agents.mcp.util import MCPToolCustomDataExtractor

# A guardrail's own output may contain anything, so that it is only for the agent's owner.
_TRIPWIRES: dict[type[Exception], str] = {
    InputGuardrailTripwireTriggered: "A guardrail of this agent declined the message.",
    OutputGuardrailTripwireTriggered: "A guardrail of this agent withheld its answer.",
    ToolInputGuardrailTripwireTriggered: "A guardrail of this agent stopped a tool.",
    ToolOutputGuardrailTripwireTriggered: "A guardrail of this agent stopped a tool.",
}


def blocked(error: Exception) -> BlockedError | None:
    """Return the rejection if a guardrail, a hook or the model declined."""
    if isinstance(error.__cause__, BlockedError):  # of a tool's hook
        return error.__cause__
    if isinstance(error, ModelRefusalError):
        return BlockedError(error.refusal)
    reason = _TRIPWIRES.get(type(error))
    return BlockedError(reason) if reason else None


def failed(error: Exception) -> AgentFailedError | None:
    """Return the failure if the model or a tool caused it."""
    if failure := model_failure(error):
        return failure
    # The SDK chains a `UserError` to a cause only for exceptions of tools.
    is_tools = isinstance(error, UserError) and error.__cause__ is not None
    return AgentFailedError("tool") if is_tools or isinstance(error, ToolTimeoutError) else None


TOOL_FAILED = "The tool failed."
_FAILURE = default_tool_error_function(RunContextWrapper(None), Exception(""))
"""The beginning of the SDK's message to the model about a tool's exception, before its text."""
_MCP_FAILED = "a2a_adapters_mcp_tool_failed"


def has_failed(item: ToolCallOutputItem) -> bool:
    """Whether a tool call ended with an exception or, for a tool of MCP, with `isError`."""
    if isinstance(item.output, str) and item.output.startswith(_FAILURE):
        return True
    return bool(item.custom_data and item.custom_data.get(_MCP_FAILED))


def mark_failures(agents: Iterable[Agent[Any]]) -> None:
    """Have the agents' MCP servers mark the outputs of failed calls.

    The SDK drops MCP's `isError`: only a server's `custom_data_extractor` sees it. Neither
    models nor callers see the data that it returns.
    """
    for agent in agents:
        for server in agent.mcp_servers:
            extractor = server.custom_data_extractor
            if not isinstance(extractor, _Marking):
                server.custom_data_extractor = _Marking(extractor)


class _Marking:
    """Adds the failure mark to the data of a server's own extractor."""

    def __init__(self, own: MCPToolCustomDataExtractor | None) -> None:
        self._own = own

    async def __call__(self, context: MCPToolCustomDataContext) -> Mapping[str, Any] | None:
        found = self._own(context) if self._own else None
        if inspect.isawaitable(found):
            found = await found
        if not context.is_error or not isinstance(found, Mapping | None):
            return found
        return {**(found or {}), _MCP_FAILED: True}
