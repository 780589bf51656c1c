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

Such functions may be `async`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard, TypeVar

from crewai import Crew, Flow
from crewai.agents.agent_builder.base_agent import BaseAgent
from pydantic import ValidationError

from a2a_adapters import Factory, TargetError
from a2a_adapters_crewai.serving.copy import copy_agent, copy_crew

T = TypeVar("T")
Make: TypeAlias = Callable[[], T]

_PLACEHOLDER = re.compile(r"\{[A-Za-z_][\w-]*\}")
_NOT_SETTINGS = {"human_feedback_history", "last_human_feedback", "stream"}


def is_crew_base(target: object) -> bool:
    """Whether it is a class decorated with `@CrewBase`, or an object of one."""
    return bool(getattr(target, "is_crew_class", False))


def is_flow_class(target: object) -> TypeGuard[type[Flow[Any]]]:
    """Whether it is a class of flows."""
    return inspect.isclass(target) and issubclass(target, Flow)


def _itself(made: Any) -> Any:
    return made


@dataclass(frozen=True, slots=True)
class Target:
    """What is served.

    Attributes:
        example: One that is never run.
        make: Makes another one; it may be `async`.
        own: Turns what was made into what one run alone has.
    """

    example: Any
    make: Callable[[], Any]
    own: Callable[[Any], Any] = _itself

    async def new(self) -> Any:
        """Return a new one for a run."""
        made = self.make()
        return self.own(await made if inspect.isawaitable(made) else made)


def as_target(target: object) -> Target:
    """Return how to serve an object, a class or a factory.

    Raises:
        TargetError: It is nothing of crewai's, was used already, or cannot be made again.
    """
    if isinstance(target, Target):
        return target
    if is_crew_base(target):
        target = _crew_of(target)
    if isinstance(target, Crew | BaseAgent):
        return _factory(lambda: target, target)
    if isinstance(target, Flow):
        return Target(target, flow_maker(target))
    if is_flow_class(target):
        flow = _call(target)
        return Target(flow, flow_maker(flow) if _begins_with_an_object(flow) else target)
    if callable(target):
        made = target if isinstance(target, Factory) else Factory(target, _call(target))
        return _factory(made.make, made.example)
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


def _factory(make: Callable[[], Any], example: Any) -> Target:
    if is_crew_base(example):
        return Target(_checked(_crew_of(example)), make, lambda made: _own_crew(_crew_of(made)))
    if is_flow_class(example):
        return as_target(example)
    if isinstance(example, Crew):
        return Target(_checked(example), make, _own_crew)
    if isinstance(example, BaseAgent):
        return Target(example, make, copy_agent)
    if isinstance(example, Flow):
        if not inspect.iscoroutinefunction(make) and make() is example:
            return Target(example, flow_maker(example))
        return Target(example, make, lambda made: flow_maker(made)() if made is example else made)
    name = getattr(make, "__name__", repr(make))
    raise TargetError(f"{name}() returned {type(example).__name__}, no crew, flow or agent")


def _checked(crew: Crew) -> Crew:
    """Return a crew that can be served."""
    _refuse_used(crew)
    if type(crew) is not Crew:  # a copy would be a plain crew
        name = type(crew).__name__
        raise TargetError(f"{name} is a subclass of Crew, of which crewai makes no copies")
    try:
        _own_crew(crew)
    except ValidationError as error:
        raise TargetError(f"crewai cannot copy this crew: {error}") from error
    return crew


def _own_crew(crew: Crew) -> Crew:
    """Return a copy: factories may reuse agents and tasks, those of `@CrewBase` do."""
    _refuse_used(crew)
    _refuse_paths(crew)
    return copy_crew(crew)


def _call(make: Callable[[], T]) -> T:
    try:
        return make()
    except TypeError as error:
        name = getattr(make, "__name__", repr(make))
        raise TargetError(f"{name} cannot be called without arguments: {error}") from error


def _refuse_paths(crew: Crew) -> None:
    """Refuse crews whose callers would say where a file is written."""
    for task in crew.tasks:
        if _PLACEHOLDER.search(task.output_file or ""):
            raise TargetError(
                f"output_file={task.output_file!r} holds a placeholder: callers would choose the "
                "file that is written; name one file, or write it in the task's callback"
            )


def _refuse_used(crew: Crew) -> None:
    was_run = crew._inputs is not None  # noqa: SLF001 - nothing public tells of a failed run
    if was_run or any(task.output is not None for task in crew.tasks):
        raise TargetError(
            "this crew was kicked off already, and keeps the inputs of that run in its texts; "
            "serve a new one, or a function that makes one: def make_crew() -> Crew: ..."
        )
