"""Describes workflows and agents, and copies them for a run."""

from __future__ import annotations

import inspect
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

from workflows import Workflow
from workflows.events import StopEvent
from workflows.resource import ResourceManager

from a2a_adapters import Skill
from a2a_adapters.plugin import ANY_MODES, AgentDescription, Copies

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODES = ("text/plain", "application/json")
_AGENTS = "llama_index.core.agent.workflow"
_TOOLS = "llama_index.core.tools"
_METHODS = (FunctionType, classmethod, property, staticmethod)
_CONVERSATIONS = {
    "llama_index.core.memory.types": "BaseMemory",
    "llama_index.core.chat_engine.types": "BaseChatEngine",
}
"""Classes whose objects hold one conversation, by their modules."""


def is_agent(workflow: Workflow) -> bool:
    """Whether a workflow is an agent, or a team of agents, of LlamaIndex."""
    return bool(agents_of(workflow))


def agents_of(workflow: Workflow) -> Sequence[Any]:
    """Return the agents of a team, or the agent; empty for any other workflow."""
    framework = sys.modules.get(_AGENTS)  # an agent can only exist if it is imported already
    if framework is None:
        return []
    if isinstance(workflow, framework.AgentWorkflow):
        return list(workflow.agents.values())
    return [workflow] if isinstance(workflow, framework.BaseWorkflowAgent) else []


def changes_text(workflow: Workflow) -> bool:
    """Whether an agent may answer with another text than its model has streamed.

    Agents of LlamaIndex that call functions answer with the text of the model's last response. The
    others extract the answer from it, and derived classes that do more may do anything. Custom
    callback handlers get a response when it is complete, and may refuse it.
    """
    agents = agents_of(workflow)
    framework: Any = sys.modules.get(_AGENTS)
    known = [framework.FunctionAgent, framework.AgentWorkflow] if agents else []
    is_other = any(_nearest(type(each)) not in known for each in agents)
    return is_other or has_own_agents(workflow) or any(map(_has_own_handlers, agents))


def _has_own_handlers(agent: Any) -> bool:
    manager = getattr(agent.llm, "callback_manager", None)
    handlers = getattr(manager, "handlers", ())
    return not all(type(each).__module__.startswith("llama_index.") for each in handlers)


def has_own_agents(workflow: Workflow) -> bool:
    """Whether a class derived from an agent of LlamaIndex may check what its model has said."""
    agents = agents_of(workflow)
    return any(_does_more(type(each)) for each in (*agents, *([workflow] if agents else [])))


def _does_more(kind: type) -> bool:
    """Whether custom code adds a step to a class of LlamaIndex, or overrides one of its methods."""
    theirs = _nearest(kind).__mro__
    return any(
        isinstance(value, _METHODS)
        and (hasattr(value, "_step_config") or any(name in vars(each) for each in theirs))
        for own in kind.__mro__
        if own not in theirs
        for name, value in vars(own).items()
        if not name.startswith("__")
    )


def _nearest(kind: type) -> type:
    """Return the class of LlamaIndex from which a class is derived, or the class itself."""
    return next(each for each in kind.__mro__ if each.__module__.startswith("llama_index."))


def speaking_steps(workflow: Workflow) -> frozenset[str]:
    """Return the names of the steps whose text is streamed.

    These are the steps after which no other runs. For agents, they are all steps but the one that
    calls tools, because a tool may pass on the events of another agent.
    """
    if is_agent(workflow):
        return frozenset(workflow._step_configs()) - {"call_tool"}  # noqa: SLF001 - as below
    # There is no public name for the events that a step returns.
    configs = workflow._step_configs()  # noqa: SLF001
    return frozenset(
        name
        for name, config in configs.items()
        if all(
            isinstance(kind, type) and issubclass(kind, StopEvent) for kind in config.return_types
        )
    )


def copied(workflow: Workflow) -> Workflow:
    """Return a copy for one run, which shares no attribute that a step sets and no resource.

    The workflows and agents in its attributes are copied, too, and so are tools, which may be
    methods of one of them.
    """
    copies = Copies(Workflow, *_tool_kinds())
    made = copies.of(workflow)
    for each in copies.made:
        if isinstance(each, Workflow):
            resources = ResourceManager()
            resources.resources.update(each._resource_manager.resources)  # noqa: SLF001
            each._resource_manager = resources  # noqa: SLF001 - its cache would mix callers
    return made


def conversations(workflow: Workflow) -> list[object]:
    """Return the memories and chat engines in attributes of a workflow and of those inside it."""
    modules = ((sys.modules.get(module), name) for module, name in _CONVERSATIONS.items())
    kinds = tuple(getattr(module, name) for module, name in modules if module)
    found, seen = list[object](), set[int]()
    waiting: list[Any] = [workflow]
    for each in waiting:  # which grows
        if id(each) in seen:
            continue
        seen.add(id(each))
        match each:
            case Workflow():
                private = getattr(each, "__pydantic_private__", None) or {}
                waiting += [*vars(each).values(), *private.values()]
            case dict():
                waiting += each.values()
            case list() | tuple():
                waiting += each
            case _ if isinstance(each, kinds):
                found.append(each)
    return found


def _tool_kinds() -> list[type]:
    framework = sys.modules.get(_TOOLS)
    return [framework.FunctionTool] if framework else []


def describe(workflow: Workflow) -> AgentDescription:
    """Describe a workflow by its class, and an agent by its description and its tools."""
    agents = agents_of(workflow)
    about = agents[0] if len(agents) == 1 else None
    name = about.name if about else type(workflow).__name__
    own = about.description if about else inspect.cleandoc(type(workflow).__doc__ or "")
    tools = [tool.metadata for each in agents for tool in each.tools or ()]
    skills = [Skill.of(tool.get_name(), tool.description) for tool in tools]
    return AgentDescription(
        name=name,
        description=own or f"The workflow {name}.",
        skills=list({skill.id: skill for skill in skills}.values()),
        input_modes=ANY_MODES if agents else _MODES,
        output_modes=ANY_MODES if agents else _MODES,
    )
