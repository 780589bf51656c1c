"""Finds guardrails, hooks and callbacks that may change or block a text, and blocked runs.

Hooks are global to the process, may be registered at any time, and run for every crew, flow and
agent. Guardrails and callbacks belong to a task, an agent or a crew.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from crewai import Agent, Crew, Task
from crewai.agents.agent_builder.base_agent import BaseAgent
from crewai.hooks import HookAborted, InterceptionPoint, get_hooks
from crewai.hooks.dispatch import get_scoped_hooks
from crewai.llms.base_llm import BaseLLM, LLMCallBlockedError

from a2a_adapters import BlockedError, TargetError
from a2a_adapters.plugin import overrides
from a2a_adapters_crewai.serving.crew_bases import (
    OwnHook,
    closes_servers,
    crew_base_of,
    hook_points,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from types import FrameType

_AFTER_STEPS = (
    InterceptionPoint.POST_STEP,
    InterceptionPoint.OUTPUT,
    InterceptionPoint.EXECUTION_END,
)
"""The points at which a hook may replace a result, or abort the run."""

_TEXT_POINTS = frozenset({InterceptionPoint.POST_MODEL_CALL, *_AFTER_STEPS})
"""The points at which a hook may change or block the text of a model."""

CALLS = (
    "_aexecute_core", "_execute_core", "acall", "aexecute_sync", "aexecute_task", "akickoff",
    "call", "execute_async", "execute_sync", "execute_task", "kickoff", "kickoff_async",
)  # fmt: skip
"""The methods of models, agents and tasks that return an answer."""

_BASES = (BaseAgent, BaseLLM)
"""The classes whose methods do nothing."""

_Form: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Methods that block, and those that do the same in an event loop."""

IN_CREWS: tuple[_Form, ...] = (
    (("_execute_core", "execute_async", "execute_sync"), ("_aexecute_core", "aexecute_sync")),
    (("execute_task",), ("aexecute_task",)),
)
"""The methods that crews call of their tasks and agents."""

ALONE: tuple[_Form, ...] = ((("kickoff",), ("akickoff", "kickoff_async")),)
"""The methods of an agent that is served alone."""

_OWN_CODE = (
    "after_kickoff_callbacks", "before_kickoff_callbacks", "callback", "condition", "guardrail",
    "guardrails", "_guardrail", "_guardrails", "step_callback", "task_callback",
)  # fmt: skip
"""The attributes of crews, tasks and agents that hold custom functions.

Guardrails that are set when a task exists already are only in its private attributes.
"""

_OWN_HOOKS = "a2a_adapters_crewai.serving.crew_run"
"""The module of the hooks that stop runs that are over; they change nothing."""

_EXHAUSTED = re.compile(
    r"(Task failed guardrail( \d+)?|Agent's guardrail failed) validation after \d+ retries"
)
"""The beginning of crewai's message for a guardrail that refused all attempts; it has no class."""


def has_text_hooks() -> bool:
    """Whether hooks may change or block the texts of models, in the current context."""
    return any(map(_has_hooks, _TEXT_POINTS))


def has_run_hooks() -> bool:
    """Whether hooks may change or block the results of steps and runs."""
    return any(map(_has_hooks, _AFTER_STEPS))


def has_argument_hooks() -> bool:
    """Whether hooks may change or block the arguments of tools."""
    return _has_hooks(InterceptionPoint.PRE_TOOL_CALL)


def has_result_hooks() -> bool:
    """Whether hooks may change the results of tools."""
    return _has_hooks(InterceptionPoint.POST_TOOL_CALL)


def needs_thread(
    parts: Collection[object], forms: Iterable[_Form], *, is_blocking: object = False
) -> bool:
    """Whether a run of crews, tasks and agents has to be in a thread.

    That is so if it blocks, or calls hooks, guardrails or callbacks, which may ask an agent or a
    crew, as a judge: CrewAI refuses that in an event loop. So may custom classes; those that wrap
    only the methods that block, or only the async ones, come first: others would not be called.

    Raises:
        TargetError: There are classes of both kinds, so that no run would call both.
    """
    pairs = [(part, *form) for part in parts for form in forms]
    in_threads = [part for part, sync, others in pairs if _wraps_only(part, sync, others)]
    in_loops = [part for part, others, names in pairs if _wraps_only(part, names, others)]
    if in_threads and in_loops:
        raise TargetError(
            f"{type(in_threads[0]).__name__} wraps a method that blocks, and "
            f"{type(in_loops[0]).__name__} only an async one: wrap both methods"
        )
    is_blocking = is_blocking or _runs_own_code(parts) or any(map(wraps_calls, parts))
    return bool(in_threads or (is_blocking and not in_loops))


def _wraps_only(part: object, names: Iterable[str], others: Collection[str]) -> bool:
    return any(overrides(part, name, "crewai.", interfaces=_BASES, unless=others) for name in names)


def _runs_own_code(parts: Collection[object]) -> bool:
    has_hooks = any(map(_has_hooks, InterceptionPoint))
    return has_hooks or any(True for part in parts for _ in own_code(part))


def own_code(part: object) -> Iterator[tuple[str, object]]:
    """Yield the custom functions of a crew, a task or an agent, with their names there."""
    for name in _OWN_CODE:
        value = getattr(part, name, None)
        for code in value if isinstance(value, list | tuple) else (value,):
            if code and not closes_servers(code):
                yield name, code


def _has_hooks(point: InterceptionPoint) -> bool:
    hooks = (*get_hooks(point), *get_scoped_hooks(point))
    return any(
        hook.is_of_current_run()
        if isinstance(hook, OwnHook)
        else getattr(hook, "__module__", "") != _OWN_HOOKS
        for hook in hooks
    )


def is_guarded(part: object) -> bool:
    """Whether something may change, or refuse, the answer of a crew, a task, an agent or a model.

    This may be a guardrail, a callback, or a custom class that wraps a call of its base class, or a
    model of such a class around another one. Of a crew, only its last task and its manager count.
    """
    match part:
        case Crew():
            is_watched = has_after_kickoff(part) or part.task_callback or part.step_callback
            return bool(
                is_watched
                or _TEXT_POINTS.intersection(hook_points(crew_base_of(part)))
                or wraps_calls(part)
                or any(map(is_guarded, part.tasks[-1:]))
                or _may_change(part.manager_agent)
                or wraps_calls(part.manager_llm)
            )
        case Task():
            names = ("guardrail", "guardrails", "_guardrail", "_guardrails", "callback")
            is_checked = any(getattr(part, name) for name in names)
            return bool(is_checked or wraps_calls(part) or _may_change(part.agent))
        case Agent():
            return part.guardrail is not None or _may_change(part)
    return wraps_calls(part)


def is_checked_call(model: object) -> bool:
    """Whether something may change or block what a model says in the call that begins now.

    This may be a hook, the model's class, or another model that has called it in this thread.
    """
    return has_text_hooks() or is_guarded(model) or _is_called_by_model(model)


def _is_called_by_model(model: object) -> bool:
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - `inspect.stack` reads source files
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, BaseLLM) and caller is not model:
            return True
        frame = frame.f_back
    return False


def has_after_kickoff(crew: Crew) -> bool:
    """Whether callbacks after the kickoff of a crew may change its result."""
    return not all(map(closes_servers, crew.after_kickoff_callbacks))


def _may_change(agent: BaseAgent | None) -> bool:
    """Whether something in an agent, or in its model, may change what the model says in a task."""
    return (
        getattr(agent, "step_callback", None) is not None
        or wraps_calls(agent)
        or wraps_calls(getattr(agent, "llm", None))
    )


def wraps_calls(part: object) -> bool:
    """Whether a custom class overrides a call of a class that does the whole work.

    Of agents, tasks and crews, other methods count, too: these may be a step of the call.
    """
    names = CALLS if isinstance(part, BaseLLM) else {*CALLS, *_own_methods(part)}
    return _holds_model(part) or any(
        overrides(part, name, "crewai.", interfaces=_BASES) for name in names
    )


def _own_methods(part: object) -> Iterator[str]:
    for kind in type(part).__mro__:
        if not kind.__module__.startswith(("crewai.", "pydantic.")):
            for name, member in vars(kind).items():
                if inspect.isfunction(member) and not name.startswith(("__", "model_")):
                    yield name


def _holds_model(part: object) -> bool:
    """Whether a model of a custom class wraps another one, which it may check."""
    if not isinstance(part, BaseLLM) or type(part).__module__.startswith("crewai."):
        return False
    values = chain(vars(part).values(), (part.__pydantic_private__ or {}).values())
    return any(isinstance(each, BaseLLM) for each in chain.from_iterable(map(_members, values)))


def _members(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple | set) else (value,)


def as_blocked(error: BaseException) -> BlockedError | None:
    """Return the error of a run that a guardrail or hook has blocked; None if it just failed."""
    is_blocked = any(
        isinstance(cause, HookAborted | LLMCallBlockedError) or _EXHAUSTED.match(str(cause))
        for cause in _causes(error)
    )
    return BlockedError() if is_blocked else None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__
