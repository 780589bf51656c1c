"""Finds what may change the text of an agent after its model has streamed it.

Hooks see a message when it is complete: `AfterModelCallEvent` can have the model called again,
`MessageAddedEvent` can rewrite the message. `AfterInvocationEvent` can rewrite the result, or have
the agent run again; so can middleware of the stream. Hooks of graphs and swarms can rewrite the
results of their members. Hooks before tools can change the arguments of a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    AfterMultiAgentInvocationEvent,
    AfterNodeCallEvent,
    AfterToolCallEvent,
    BeforeToolCallEvent,
    BeforeToolsEvent,
    HookRegistry,
    MessageAddedEvent,
)
from strands.middleware import ExecuteToolStage, InvokeModelStage
from strands.multiagent.base import MultiAgentBase
from strands.types.content import Message
from strands.types.tools import ToolResult, ToolUse
from strands.vended_plugins.steering import SteeringHandler

from a2a_adapters.plugin import overrides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from strands.hooks import BaseHookEvent

_HARMLESS = (
    "strands._context_manager.context_manager",
    "strands.agent.",
    "strands.background_tasks.",
    "strands.event_loop.",
    "strands.memory.",
    "strands.models.",
)
"""The framework's own hooks that change no message; they retry only failed calls."""
_NO_CALL = ToolUse(toolUseId="", name="", input={})
_NO_RESULT = ToolResult(toolUseId="", status="success", content=[])


@dataclass(frozen=True, slots=True)
class Guards:
    """What may change the text.

    Attributes:
        messages: Whether a message may be changed until the framework reports it.
        runs: Whether any message may be changed until the end of the run.
        calls: Whether the arguments of tools may be changed, or calls refused, after the model's
            message is reported.
    """

    messages: bool = False
    runs: bool = False
    calls: bool = False

    def __bool__(self) -> bool:
        """Whether text may be changed."""
        return self.messages or self.runs

    def __or__(self, other: Guards) -> Guards:
        return Guards(
            self.messages or other.messages, self.runs or other.runs, self.calls or other.calls
        )


def guards_of(target: object) -> Guards:
    """Return what may change the text of an agent, or of the members of a graph or a swarm."""
    if not isinstance(target, Agent):
        return _of_team(target) if isinstance(target, MultiAgentBase) else Guards(runs=True)
    hooks, message = target.hooks, Message(role="assistant", content=[])
    stages = _stages(target)
    before_tool = BeforeToolCallEvent(target, None, _NO_CALL, {})
    own = Guards(
        messages=_has_hooks(hooks, AfterModelCallEvent(target), MessageAddedEvent(target, message))
        or InvokeModelStage in stages
        or _checks_later(target),
        runs=_has_hooks(hooks, AfterInvocationEvent(target))
        or bool(stages - {ExecuteToolStage, InvokeModelStage})
        or checks_invocations(target)
        or overrides(target, "stream_async", "strands.")
        or overrides(target.conversation_manager, "apply_management", "strands."),
        calls=_has_hooks(hooks, before_tool, BeforeToolsEvent(target, message, {}))
        or ExecuteToolStage in stages,
    )
    if not (delegates := [guards_of(each) for each in delegates_of(target).values()]):
        return own
    # What they have said becomes the result of a tool and another message, which hooks may change.
    after_tool = AfterToolCallEvent(target, None, _NO_CALL, {}, _NO_RESULT)
    changes_results = _has_hooks(hooks, after_tool) or ExecuteToolStage in stages
    return reduce(or_, delegates, replace(own, runs=bool(own) or changes_results))


def checks_invocations(agent: Agent | MultiAgentBase) -> bool:
    """Return whether a custom class may check the results of `invoke_async`, but not streams."""
    return overrides(agent, "invoke_async", "strands.", unless=["stream_async"])


def checks_calls_only(agent: Agent | MultiAgentBase) -> bool:
    """Return whether a custom class may check only the results of calls."""
    return overrides(agent, "__call__", "strands.", unless=["invoke_async", "stream_async"])


def delegates_of(agent: Agent) -> dict[str, Agent]:
    """Return the agents whose answers become those of this one, by the names of their tools."""
    tools: Iterable[Any] = agent.tool_registry.registry.values()
    return {tool.tool_name: tool.agent for tool in tools if getattr(tool, "delegate", False)}


def _of_team(team: MultiAgentBase) -> Guards:
    hooks, nodes = getattr(team, "hooks", None), getattr(team, "nodes", None)
    if not isinstance(hooks, HookRegistry) or nodes is None:  # it is the user's own
        return Guards(runs=True)
    events = AfterNodeCallEvent(team, ""), AfterMultiAgentInvocationEvent(team)
    own = Guards(runs=_has_hooks(hooks, *events) or overrides(team, "stream_async", "strands."))
    return reduce(or_, (guards_of(node.executor) for node in nodes.values()), own)


def _has_hooks(hooks: HookRegistry, *events: BaseHookEvent) -> bool:
    return any(_may_change(each) for event in events for each in hooks.get_callbacks_for(event))


def _may_change(callback: Callable[..., Any]) -> bool:
    if getattr(callback, "__func__", None) is SteeringHandler.provide_model_steering_guidance:
        handler = callback.__self__  # type: ignore[attr-defined]
        return overrides(handler, "steer_after_model", "strands.")
    module = getattr(callback, "__module__", None) or ""
    return not module.startswith(_HARMLESS)


def _stages(agent: Agent) -> set[Any]:
    """Return the stages whose output middleware sees, and that of tools if it sees their input."""
    handlers = agent._middleware_registry._handlers  # noqa: SLF001 - there is no public name
    return {
        stage
        for stage, registered in handlers.items()
        for each in registered
        if _may_change(each.handler) and (each.phase != "input" or stage is ExecuteToolStage)
    }


def _checks_later(agent: Agent) -> bool:
    """Return whether the model's guardrail checks text after it has been streamed (Bedrock)."""
    config = agent.model.get_config()
    return isinstance(config, Mapping) and config.get("guardrail_stream_processing_mode") == "async"
