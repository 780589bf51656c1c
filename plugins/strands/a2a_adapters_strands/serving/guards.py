"""Finds what may change the text of an agent after its model has streamed it.

Hooks see a message when it is complete: `AfterModelCallEvent` can have the model called again,
`MessageAddedEvent` can rewrite the message. `AfterInvocationEvent` can rewrite the result, or have
the agent run again; so can middleware of the stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from strands import Agent
from strands.hooks import AfterInvocationEvent, AfterModelCallEvent, MessageAddedEvent
from strands.middleware import ExecuteToolStage, InvokeModelStage
from strands.multiagent.base import MultiAgentBase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_HARMLESS = (
    "strands._context_manager.context_manager",
    "strands.agent.",
    "strands.background_tasks.",
    "strands.event_loop.",
    "strands.memory.",
    "strands.models.",
)
"""The framework's own hooks that change no message; what they retry had failed."""


@dataclass(frozen=True, slots=True)
class Guards:
    """What may change the text.

    Attributes:
        messages: Whether a message may be changed until the framework reports it.
        runs: Whether any message may be changed until the end of the run.
    """

    messages: bool = False
    runs: bool = False

    def __bool__(self) -> bool:
        return self.messages or self.runs

    def __or__(self, other: Guards) -> Guards:
        return Guards(self.messages or other.messages, self.runs or other.runs)


def guards_of(target: object) -> Guards:
    """Return what may change the text of an agent, or of the members of a graph or a swarm."""
    if isinstance(target, MultiAgentBase):
        found = Guards()
        for node in getattr(target, "nodes", {}).values():
            found |= guards_of(node.executor)
        return found
    if not isinstance(target, Agent):
        return Guards(runs=True)
    events = (
        MessageAddedEvent(agent=target, message={"role": "assistant", "content": []}),
        AfterModelCallEvent(agent=target),
    )
    hooks, stages = target.hooks, _stages(target)
    tools: Iterable[Any] = target.tool_registry.registry.values()
    delegates = [guards_of(tool.agent) for tool in tools if getattr(tool, "delegate", False)]
    callbacks = (each for event in events for each in hooks.get_callbacks_for(event))
    last = hooks.get_callbacks_for(AfterInvocationEvent(agent=target))
    own = Guards(
        any(map(_may_change, callbacks)) or InvokeModelStage in stages or _checks_later(target),
        any(map(_may_change, last)) or bool(stages - {ExecuteToolStage, InvokeModelStage}),
    )
    if delegates:  # what they have said becomes another message, which hooks may change
        own = Guards(own.messages, bool(own))
    return reduce(or_, delegates, own)


def _may_change(callback: Callable[..., Any]) -> bool:
    module = getattr(callback, "__module__", None) or ""
    return not module.startswith(_HARMLESS)


def _stages(agent: Agent) -> set[Any]:
    """Return the stages whose output middleware sees."""
    stages = agent._middleware_registry._handlers.items()  # noqa: SLF001 - there is no public name
    return {stage for stage, handlers in stages if any(each.phase != "input" for each in handlers)}


def _checks_later(agent: Agent) -> bool:
    """Return whether the model's guardrail checks text after it has been streamed (Bedrock)."""
    config = agent.model.get_config()
    return isinstance(config, Mapping) and config.get("guardrail_stream_processing_mode") == "async"
