"""Describes agents, and copies them for a run."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from rich.console import Console
from smolagents import (
    CodeAgent,
    FinalAnswerTool,
    LocalPythonExecutor,
    MultiStepAgent,
    UserInputTool,
)
from smolagents.memory import AgentMemory, CallbackRegistry
from smolagents.monitoring import AgentLogger, LogLevel, Monitor

from a2a_adapters import Skill, TargetError
from a2a_adapters.plugin import ANY_MODES, AgentDescription, Copies, overrides

if TYPE_CHECKING:
    from collections.abc import Iterator

_INPUT = ("text/plain", "application/json", "image/*")


def describe(agent: MultiStepAgent) -> AgentDescription:
    """Describe an agent by its name, its description, its tools and the agents that it manages."""
    name = agent.name or type(agent).__name__
    tools = [tool for key, tool in agent.tools.items() if key != "final_answer"]
    members: list[Any] = list(agent.managed_agents.values())
    return AgentDescription(
        name=name,
        description=agent.description or f"The agent {name}.",
        skills=[
            *(Skill.of(tool.name, tool.description) for tool in tools),
            *(Skill.of(each.name, each.description, "agent") for each in members),
        ],
        input_modes=_INPUT,
        output_modes=ANY_MODES,
    )


def check(agent: MultiStepAgent) -> None:
    """Check that an agent can be copied and does not read from a terminal.

    Raises:
        TargetError: It cannot, or does.
    """
    for each in team(agent):
        if overrides(each, "run", "smolagents."):
            raise TargetError(
                f"{type(each).__name__} overrides run, which cannot change the answer of a run "
                "that is streamed: check it in final_answer_checks instead"
            )
        if type(each.memory) is not AgentMemory:
            raise TargetError(
                f"{type(each.memory).__name__} is a memory of one's own, and each run has another "
                "one with the steps of its caller: use step_callbacks instead"
            )
        if any(isinstance(tool, UserInputTool) for tool in each.tools.values()):
            raise TargetError(
                "UserInputTool reads the terminal of the server: remove it; an agent answers with "
                "its question, and the next message of the conversation is the answer"
            )
        is_own = isinstance(each, CodeAgent) and each.executor_type == "local"
        if is_own and type(each.python_executor) is not LocalPythonExecutor:
            raise TargetError(
                "an executor of one's own would mix the variables of all callers: give the agent "
                "an executor_type instead"
            )


def is_checked(agent: MultiStepAgent) -> bool:
    """Whether something may change or refuse what an agent, or one that it manages, says or does.

    This may be a check, a callback, a custom tool for the answer, or a custom class.
    """
    return any(map(_is_checked, team(agent)))


def _is_checked(agent: MultiStepAgent) -> bool:
    tool = agent.tools.get("final_answer")
    own = agent.monitor.update_metrics
    registered = agent.step_callbacks._callbacks.values()  # noqa: SLF001 - has no other name
    return (
        bool(agent.final_answer_checks)
        or not type(agent).__module__.startswith("smolagents.")
        or (type(agent.monitor), type(agent.logger)) != (Monitor, AgentLogger)
        # A class that `@tool` makes from a function is also in a module of smolagents.
        or (tool is not None and type(tool) is not FinalAnswerTool)
        or any(each != own for callbacks in registered for each in callbacks)
    )


def team(agent: MultiStepAgent) -> Iterator[MultiStepAgent]:
    """Yield an agent and the agents of the framework that it manages, directly or not."""
    yield agent
    for each in agent.managed_agents.values():
        if isinstance(each, MultiStepAgent):
            yield from team(each)


def copied(agent: MultiStepAgent) -> MultiStepAgent:
    """Return a copy for one run, which shares tools and the model only, and prints nothing.

    The agents that it manages are copied, too; callbacks and checks that are methods of an agent
    belong to the copies.
    """
    copies = Copies(MultiStepAgent, Monitor, AgentLogger, LocalPythonExecutor)
    for each in team(agent):
        for shared in (each.memory, each.step_callbacks):
            copies.keep(shared)
    made = copies.of(agent)
    for each in team(agent):
        _begin(copies.of(each), copies)
    return made


def _begin(made: MultiStepAgent, copies: Copies) -> None:
    """Give a copy what belongs to its run alone."""
    made.logger.console = _nowhere()
    if type(made.logger) is AgentLogger:  # another class may check what it gets
        made.logger.level = LogLevel.OFF
    made.memory = AgentMemory(made.system_prompt)
    made.monitor.logger = made.logger
    made.monitor.reset()
    registry = CallbackRegistry()
    for kind, callbacks in made.step_callbacks._callbacks.items():  # noqa: SLF001 - has no other name
        for each in callbacks:
            registry.register(kind, copies.of(each))
    made.step_callbacks = registry
    made.interrupt_switch = False
    if isinstance(made, CodeAgent) and not isinstance(made.python_executor, LocalPythonExecutor):
        made.python_executor = made.create_python_executor()


def _nowhere() -> Console:
    """Return a console that drops the output of an agent while its model streams."""
    return Console(file=io.StringIO(), quiet=True, force_terminal=False, force_jupyter=False)
