"""What can be served, and how a new one is made for each run.

A crew, an agent and a flow can do one thing at a time, and are changed by it: the inputs of the
first kickoff are written into the texts of a crew's tasks and agents. So every run has its own.

| target                            | each run gets                                                |
|-----------------------------------|--------------------------------------------------------------|
| a `Crew`, an `Agent`              | a copy; the object itself is never kicked off                |
| a class of `@CrewBase`, an object | a copy of its crew, which it makes once                      |
| a function that makes one of them | a copy of what it returns then                               |
| a `Flow` class, an object         | a new object with the same settings                          |
| a function that makes a flow      | what it returns then                                         |
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeGuard, TypeVar, get_type_hints

from crewai import Crew, Flow
from crewai.agents.agent_builder.base_agent import BaseAgent
from pydantic import ValidationError

from a2a_adapters import TargetError
from a2a_adapters_crewai._copy import copy_agent, copy_crew

T = TypeVar("T")
Make: TypeAlias = Callable[[], T]

_NOT_SETTINGS = {"human_feedback_history", "last_human_feedback", "stream"}
_KINDS = (Crew, Flow, BaseAgent)


def is_crew_base(target: object) -> bool:
    """Whether it is a class decorated with `@CrewBase`, or an object of one."""
    return bool(getattr(target, "is_crew_class", False))


def is_flow_class(target: object) -> TypeGuard[type[Flow[Any]]]:
    """Whether it is a class of flows."""
    return inspect.isclass(target) and issubclass(target, Flow)


def is_factory(target: object) -> bool:
    """Whether it is a function without arguments whose annotation promises something of ours."""
    if not (inspect.isfunction(target) or inspect.ismethod(target)):
        return False
    if is_crew_base(getattr(target, "__self__", None)):
        return True
    try:
        returned = get_type_hints(target).get("return")
    except Exception:  # annotations only a type checker can resolve
        returned = target.__annotations__.get("return")
    if isinstance(returned, str):
        return returned in {"Agent", "Crew", "Flow"}
    return inspect.isclass(returned) and issubclass(returned, _KINDS)


@dataclass(frozen=True, slots=True)
class Target:
    """What is served: an example that is never run, and what makes a new one for each run."""

    example: Any
    make: Make[Any]


def as_target(target: object) -> Target:
    """Return how to serve an object, a class or a factory.

    Raises:
        TargetError: It is nothing of crewai's, was used already, or cannot be made again.
    """
    if isinstance(target, Target):
        return target
    if is_crew_base(target):
        target = _crew_of(target)
    if isinstance(target, Crew):
        crew = target
        return Target(crew, _crew_maker(lambda: crew, crew))
    if isinstance(target, BaseAgent):
        return Target(target, partial(copy_agent, target))
    if isinstance(target, Flow):
        return Target(target, flow_maker(target))
    if is_flow_class(target):
        flow = _call(target)
        return Target(flow, flow_maker(flow) if _begins_with_an_object(flow) else target)
    if callable(target):
        return _factory(target)
    raise TargetError(f"{type(target).__name__} is no crew, flow, agent or factory of one")


def flow_maker(flow: Flow[Any]) -> Make[Flow[Any]]:
    """Return what makes a flow with the same settings.

    Raises:
        TargetError: The flow's constructor wants something else.
    """

    def make() -> Flow[Any]:
        return type(flow)(**flow_settings(flow))

    try:
        make()
    except Exception as error:
        name = type(flow).__name__
        raise TargetError(
            f"no other {name} can be made from this one ({error}); serve a function that makes "
            f"one: def make_flow() -> {name}: ..."
        ) from error
    return make


def flow_settings(flow: Flow[Any]) -> dict[str, Any]:
    """Return what a flow's constructor was given.

    The state a flow begins with is copied, which crewai does for its outermost level only.
    """
    settings = {name: getattr(flow, name) for name in flow.model_fields_set - _NOT_SETTINGS}
    if _begins_with_an_object(flow):
        settings["initial_state"] = deepcopy(flow.initial_state)
    return settings


def _begins_with_an_object(flow: Flow[Any]) -> bool:
    state = flow.initial_state
    return state is not None and not isinstance(state, type)


def _crew_of(crew_base: Any) -> Crew:
    """Return the crew of a class decorated with `@CrewBase`, or of an object of one."""
    made: Any = _call(crew_base) if inspect.isclass(crew_base) else crew_base
    crew: Crew = made.crew()
    return crew


def _factory(make: Callable[[], Any]) -> Target:
    example = _call(make)
    if isinstance(example, Crew):
        return Target(example, _crew_maker(make, example))
    if isinstance(example, BaseAgent):
        return Target(example, lambda: copy_agent(make()))
    if isinstance(example, Flow):
        return Target(example, flow_maker(example) if make() is example else make)
    name = getattr(make, "__name__", repr(make))
    raise TargetError(f"{name}() returned {type(example).__name__}, no crew, flow or agent")


def _crew_maker(make: Make[Crew], example: Crew) -> Make[Crew]:
    """Return what makes a copy: factories may reuse agents and tasks, those of `@CrewBase` do."""
    _refuse_used(example)
    if type(example) is not Crew:  # a copy would be a plain crew
        name = type(example).__name__
        raise TargetError(f"{name} is a subclass of Crew, of which crewai makes no copies")

    def make_copy() -> Crew:
        crew = make()
        _refuse_used(crew)
        return copy_crew(crew)

    try:
        make_copy()
    except ValidationError as error:
        raise TargetError(f"crewai cannot copy this crew: {error}") from error
    return make_copy


def _call(make: Callable[[], T]) -> T:
    try:
        return make()
    except TypeError as error:
        name = getattr(make, "__name__", repr(make))
        raise TargetError(f"{name} cannot be called without arguments: {error}") from error


def _refuse_used(crew: Crew) -> None:
    was_run = crew._inputs is not None  # noqa: SLF001 - nothing public tells of a failed run
    if was_run or any(task.output is not None for task in crew.tasks):
        raise TargetError(
            "this crew was kicked off already, and keeps the inputs of that run in its texts; "
            "serve a new one, or a function that makes one: def make_crew() -> Crew: ..."
        )
