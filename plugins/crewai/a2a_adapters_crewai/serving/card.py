"""Describes crews, flows and agents for their cards, without back stories and prompts."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from a2a_adapters import Skill
from a2a_adapters.plugin import AgentDescription
from a2a_adapters_crewai.serving.input import ReadInputs, RequestInputs, takes_files

if TYPE_CHECKING:
    from crewai import Crew, Flow
    from crewai.agents.agent_builder.base_agent import BaseAgent

_DEFAULT_NAME = "crew"


def describe_crew(crew: Crew, read: ReadInputs) -> AgentDescription:
    """Describe a crew by its name, its tasks, and its agents' roles and goals."""
    given = crew.name if crew.name and crew.name != _DEFAULT_NAME else ""
    name = given or " and ".join(_roles(crew)) or "Crew"
    steps = "; ".join(_step(task.name, task.agent) for task in crew.tasks)
    return _describe(name, f"{name}: {steps}.", [*_roles(crew), "crew"], read)


def describe_flow(flow: Flow[Any], read: ReadInputs) -> AgentDescription:
    """Describe a flow by its name and its docstring."""
    name = flow.name or type(flow).__name__
    documentation = inspect.cleandoc(type(flow).__doc__ or "").partition("\n\n")[0]
    return _describe(name, documentation or f"The flow {name}.", ["flow"], read)


def describe_agent(agent: BaseAgent) -> AgentDescription:
    """Describe an agent by its role and goal."""
    return _describe(agent.role, agent.goal, ["agent"], None)


def _describe(
    name: str, description: str, tags: Sequence[str], read: ReadInputs | None
) -> AgentDescription:
    files = ("*/*",) if takes_files() else ()
    skill = Skill(
        id=re.sub(r"\W+", "-", name).strip("-").lower() or "agent",
        name=name,
        description=description,
        tags=tags,
        examples=_examples(read) if isinstance(read, RequestInputs) else (),
    )
    return AgentDescription(
        name=name,
        description=description,
        skills=[skill],
        input_modes=("text/plain", "application/json", *files),
    )


def _roles(crew: Crew) -> Iterable[str]:
    return list(dict.fromkeys(agent.role.strip() for agent in crew.agents))


def _step(name: str | None, agent: BaseAgent | None) -> str:
    goal = agent.goal.strip().rstrip(".") if agent else ""
    return ": ".join(filter(None, (name, goal))) or "a task"


def _examples(read: RequestInputs) -> Sequence[str]:
    """Return an example message: each name, with itself as the value."""
    if not read.names:
        return ()
    return [json.dumps({name: f"<{name}>" for name in read.names})]
