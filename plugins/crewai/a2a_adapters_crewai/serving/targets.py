"""The targets, and how each run gets an object of its own.

A crew, an agent and a flow can do one thing at a time, and are changed by it: the inputs of the
first kickoff are written into the texts of a crew's tasks and agents.

| target                           | each run gets                                               |
|----------------------------------|-------------------------------------------------------------|
| a `Crew` or `Agent`              | a copy; the object itself is never kicked off               |
| a class of `@CrewBase`           | the crew of a new object of it                              |
| a function that returns a crew   | what it returns; a copy if an earlier run has had a part    |
| a function that returns an agent | a copy of what it returns                                   |
| a `Flow` class or instance       | a new instance with the same settings                       |
| a function that returns a flow   | what it returns                                             |

Functions may be `async`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar
from weakref import WeakValueDictionary

from crewai import Crew, Flow
from crewai.agents.agent_builder.base_agent import BaseAgent
from pydantic import ValidationError

from a2a_adapters import TargetError
from a2a_adapters.plugin import Factory
from a2a_adapters_crewai.serving.crew_bases import (
    crew_base_of,
    is_crew_base,
    own_crew_bases,
    unregister_hooks,
)
from a2a_adapters_crewai.serving.guardrails import CALLS, own_code

if TYPE_CHECKING:
    from crewai.tools import BaseTool
    from pydantic import BaseModel

T = TypeVar("T")

_PLACEHOLDER = re.compile(r"\{[A-Za-z_][\w-]*\}")
_NOT_SETTINGS = {"human_feedback_history", "last_human_feedback", "stream"}
_LOST_BY_CREWS = ("chat_llm", "function_calling_llm", "planning_llm")
_LOST_BY_AGENTS = ("apps", "function_calling_llm", "mcps", "planning_config")


def is_flow_class(target: object) -> TypeGuard[type[Flow[Any]]]:
    """Whether it is a class of flows."""
    return inspect.isclass(target) and issubclass(target, Flow)


@dataclass(frozen=True, slots=True)
class Target:
    """A target and the way to create others like it.

    Attributes:
        example: An object that is never run.
        make: Returns another object; it may be `async`.
        own: Converts that to an object of one run alone.
    """

    example: Any
    make: Callable[[], Any]
    own: Callable[[Any], Any] = lambda made: made

    async def new(self) -> Any:
        """Return an object for a run."""
        made = self.make()
        return self.own(await made if inspect.isawaitable(made) else made)


def as_target(target: object) -> Target:
    """Return the way to serve an object, a class or a factory.

    Raises:
        TargetError: It is not of crewai, was used already, or no other one can be created.
    """
    if isinstance(target, Target):
        return target
    if is_crew_base(target) and not inspect.isclass(target):
        raise TargetError(_shared_base(target))
    if isinstance(target, Crew | BaseAgent | Flow):
        return _from_factory(lambda: target, target)
    if is_flow_class(target):
        flow = _call(target)
        return Target(flow, flow_maker(flow) if _has_initial_object(flow) else target)
    if callable(target):
        made = target if isinstance(target, Factory) else Factory(target, _call(target))
        return _from_factory(made.make, made.example)
    raise TargetError(f"{type(target).__name__} is not a crew, flow, agent or factory of one")


def flow_maker(flow: Flow[Any]) -> Callable[[], Flow[Any]]:
    """Return a function that creates flows with the same settings.

    Raises:
        TargetError: The flow's constructor needs other arguments.
    """

    def make() -> Flow[Any]:
        return type(flow)(**flow_settings(flow))

    try:
        with own_crew_bases():
            make()
    except Exception as error:
        name = type(flow).__name__
        raise TargetError(
            f"another {name} cannot be created from this one ({error}); serve a function that "
            f"creates one: def make_flow() -> {name}: ..."
        ) from error
    return make


def flow_settings(flow: Flow[Any]) -> dict[str, Any]:
    """Return the arguments of a flow's constructor.

    The initial state is copied in depth; crewai copies only its outermost level.
    """
    settings = {name: getattr(flow, name) for name in flow.model_fields_set - _NOT_SETTINGS}
    if _has_initial_object(flow):
        settings["initial_state"] = deepcopy(flow.initial_state)
    return settings


def agents_of(crew: Crew) -> list[BaseAgent]:
    """Return a crew's agents, its manager, and the agents of its tasks."""
    of_tasks = (task.agent for task in crew.tasks)
    return [agent for agent in chain(crew.agents, [crew.manager_agent], of_tasks) if agent]


def copy_crew(crew: Crew) -> Crew:
    """Return a copy of a crew that was never kicked off.

    `Crew.copy` finds agents by their role and tasks by their text, recreates custom models from
    their names, and drops MCP servers and apps of agents. All of this is corrected here.
    """
    copy = crew.copy()
    _restore(crew, copy, _LOST_BY_CREWS)
    agents = {id(old): new for old, new in zip(crew.agents, copy.agents, strict=True)}
    if crew.manager_agent and copy.manager_agent:
        agents[id(crew.manager_agent)] = copy.manager_agent
    for agent in agents_of(crew):
        agents[id(agent)] = copy_agent(agent, agents.get(id(agent)))
    tasks = {id(old): new for old, new in zip(crew.tasks, copy.tasks, strict=True)}
    for old, new in zip(crew.tasks, copy.tasks, strict=True):
        new.agent = agents[id(old.agent)] if old.agent else None
        new.tools = _own_tools(old.tools)
        if isinstance(old.context, list):
            new.context = [tasks[id(task)] for task in old.context]
    return copy


def copy_agent(agent: BaseAgent, copy: BaseAgent | None = None) -> BaseAgent:
    """Return a copy of an agent, or complete the one that crewai made.

    Tools are shared, except those with a usage limit, which each run counts for itself.
    """
    copy = agent.copy() if copy is None else copy
    _restore(agent, copy, _LOST_BY_AGENTS)
    copy.tools = _own_tools(agent.tools)
    return copy


def _own_tools(tools: Iterable[BaseTool] | None) -> list[BaseTool]:
    unused = {"current_usage_count": 0}
    return [
        tool.model_copy(update=unused) if tool.max_usage_count else tool for tool in tools or ()
    ]


def _restore(old: BaseModel, new: BaseModel, names: Iterable[str]) -> None:
    for name in names:
        if (value := vars(old).get(name)) is not None:  # some warn when read as attributes
            setattr(new, name, value)


def _has_initial_object(flow: Flow[Any]) -> bool:
    state = flow.initial_state
    return state is not None and not isinstance(state, type)


def _from_factory(make: Callable[[], Any], example: Any) -> Target:
    if is_flow_class(example):
        return as_target(example)
    if is_crew_base(example) or isinstance(example, Crew | BaseAgent):
        return _owned(make, example)
    if isinstance(example, Flow):
        if not inspect.iscoroutinefunction(make) and make() is example:
            return Target(example, flow_maker(example))
        return Target(example, make, lambda made: flow_maker(made)() if made is example else made)
    name = getattr(make, "__name__", repr(make))
    raise TargetError(f"{name}() returned {type(example).__name__}, not a crew, flow or agent")


def _owned(make: Callable[[], Any], example: Any) -> Target:
    owners = _Owners()
    first = owners.own(example)
    if not inspect.iscoroutinefunction(make):
        _retire(owners.own(make()))  # refuses what cannot be made twice
    _retire(first)
    return Target(first, make, owners.own)


def _retire(made: Crew | BaseAgent) -> None:
    """Unregister the hooks of what is never run."""
    if isinstance(made, Crew) and (base := crew_base_of(made)) is not None:
        unregister_hooks(base)


class _Owners:
    """Sees that no two runs get the same crew, agent or task."""

    def __init__(self) -> None:
        self._parts = WeakValueDictionary[int, Any]()

    def own(self, made: Any) -> Crew | BaseAgent:
        """Return an agent, a crew, or that of an object of a `@CrewBase` class, for one run alone.

        Raises:
            TargetError: It was used already, or has to be copied, and cannot be.
        """
        target: Crew | BaseAgent = made.crew() if is_crew_base(made) else made
        if isinstance(target, Crew):
            _refuse_used(target)
            _refuse_unsafe(target)
        parts = parts_of(target)
        if any(id(part) in self._parts for part in parts):
            return _checked_copy(target, parts)
        self._parts.update({id(part): part for part in parts})
        for part in parts:
            if not isinstance(part, Crew):
                part.tools = _own_tools(part.tools)
        return target


def parts_of(target: Crew | BaseAgent) -> list[Any]:
    """Return a crew or an agent, and the tasks and agents of the crew."""
    return [target, *target.tasks, *agents_of(target)] if isinstance(target, Crew) else [target]


def _checked_copy(target: Crew | BaseAgent, parts: Sequence[Any]) -> Crew | BaseAgent:
    if isinstance(target, Crew) and (base := crew_base_of(target)) is not None:
        raise TargetError(_shared_base(base))
    for part in parts:
        _refuse_lost(part, parts)
    try:
        return copy_crew(target) if isinstance(target, Crew) else copy_agent(target)
    except ValidationError as error:
        raise TargetError(f"crewai cannot copy this {type(target).__name__}: {error}") from error


def _refuse_lost(part: Any, parts: Sequence[Any]) -> None:
    """Raise `TargetError` if a copy would lose, or not be what, some code of a part refers to."""
    kind = type(part).__name__
    remedy = f"each run has a copy: serve a function that creates the {kind} and what belongs to it"
    for name in CALLS:
        if name in vars(part):
            raise TargetError(f"{name} is set on this {kind} instead of its class, and {remedy}")
    for name in ("guardrail", "guardrails"):
        if getattr(part, f"_{name}", None) and not getattr(part, name):
            raise TargetError(
                f"_{name} of this {kind} was set when it existed already, and {remedy}"
            )
    for name, code in own_code(part):
        if _refers(code, parts):
            raise TargetError(f"{name} of this {kind} refers to a part of its crew, and {remedy}")


def _refers(code: object, parts: Sequence[object]) -> bool:
    """Whether a function refers to one of some objects by a name, itself or in a list."""
    if not (inspect.isfunction(code) or inspect.ismethod(code)):
        return False
    names = inspect.getclosurevars(code)
    values = [*names.nonlocals.values(), *names.globals.values(), getattr(code, "__self__", None)]
    found = chain.from_iterable(each if isinstance(each, list) else [each] for each in values)
    return any(value is part for value in found for part in parts)


def _shared_base(base: Any) -> str:
    name = type(base).__name__
    return (
        f"all callers would share one object of {name}, and what its methods keep: serve the class "
        f"{name}, or a function that creates one, lambda: {name}(...)"
    )


def _refuse_unsafe(crew: Crew) -> None:
    if type(crew) is not Crew:  # a copy would be a plain crew
        name = type(crew).__name__
        raise TargetError(f"{name} is a subclass of Crew, which crewai cannot copy")
    for task in crew.tasks:
        if _PLACEHOLDER.search(task.output_file or ""):
            raise TargetError(
                f"output_file={task.output_file!r} holds a placeholder: callers would choose the "
                "file that is written; name one file, or write it in the task's callback"
            )


def _refuse_used(crew: Crew) -> None:
    was_run = crew._inputs is not None  # noqa: SLF001 - a failed run leaves nothing public
    if was_run or any(task.output is not None for task in crew.tasks):
        raise TargetError(
            "this crew was kicked off already, and keeps the inputs of that run in its texts; "
            "serve a new one, or a function that creates one: def make_crew() -> Crew: ..."
        )


def _call(make: Callable[[], T]) -> T:
    try:
        return make()
    except TypeError as error:
        name = getattr(make, "__name__", repr(make))
        raise TargetError(f"{name} cannot be called without arguments: {error}") from error
