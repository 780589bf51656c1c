"""A crew or agent of its own for each run.

crewai's `copy()` is right as long as the original was never kicked off, but for some things:
it finds agents by their role and tasks by their text, makes models that are not the agents' own
anew from their name, and drops an agent's MCP servers and apps. Those are put back here. Tools are
shared, but for those that may be used so often only: each run counts for itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crewai import Crew
    from crewai.agents.agent_builder.base_agent import BaseAgent
    from crewai.tools import BaseTool
    from pydantic import BaseModel

_OF_CREW = ("chat_llm", "function_calling_llm", "planning_llm")
_OF_AGENT = ("apps", "function_calling_llm", "mcps")


def copy_crew(crew: Crew) -> Crew:
    """Return a copy of a crew that was never kicked off."""
    copy = crew.copy()
    _put_back(crew, copy, _OF_CREW)
    agents = {id(old): new for old, new in zip(crew.agents, copy.agents, strict=True)}
    if crew.manager_agent and copy.manager_agent:
        agents[id(crew.manager_agent)] = copy.manager_agent
    for agent in _all_agents(crew):
        if id(agent) not in agents:
            agents[id(agent)] = agent.copy()
        _complete(agent, agents[id(agent)])
    tasks = {id(old): new for old, new in zip(crew.tasks, copy.tasks, strict=True)}
    for old, new in zip(crew.tasks, copy.tasks, strict=True):
        new.agent = agents[id(old.agent)] if old.agent else None
        new.tools = _own_tools(old.tools)
        if isinstance(old.context, list):
            new.context = [tasks[id(task)] for task in old.context]
    return copy


def copy_agent(agent: BaseAgent) -> BaseAgent:
    """Return a copy of an agent."""
    copy: BaseAgent = agent.copy()
    _complete(agent, copy)
    return copy


def _complete(agent: BaseAgent, copy: BaseAgent) -> None:
    _put_back(agent, copy, _OF_AGENT)
    copy.tools = _own_tools(agent.tools)


def _all_agents(crew: Crew) -> Iterable[BaseAgent]:
    of_tasks = (task.agent for task in crew.tasks)
    return filter(None, chain(crew.agents, [crew.manager_agent], of_tasks))


def _own_tools(tools: Iterable[BaseTool] | None) -> list[BaseTool]:
    return [_unused(tool) if tool.max_usage_count else tool for tool in tools or ()]


def _unused(tool: BaseTool) -> BaseTool:
    return tool.model_copy(update={"current_usage_count": 0})


def _put_back(old: BaseModel, new: BaseModel, names: Iterable[str]) -> None:
    for name in names:
        if (value := vars(old).get(name)) is not None:  # some warn when read as attributes
            setattr(new, name, value)
