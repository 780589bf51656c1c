"""Objects of `@CrewBase` classes: each run has its own, and they end with it.

CrewAI calls the hook methods of such an object for every crew in the process, and keeps what its
other methods have returned for ever. In a run, its hooks are for that run alone, and what it has
returned is forgotten afterwards.
"""

from __future__ import annotations

import contextvars
import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crewai.hooks import InterceptionPoint
from crewai.hooks.dispatch import get_scoped_hooks, register_scoped, scoped_hooks, unregister
from crewai.project import crew_base
from crewai.project.utils import cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crewai import Crew

_POINTS = {
    "before_llm_call": InterceptionPoint.PRE_MODEL_CALL,
    "after_llm_call": InterceptionPoint.POST_MODEL_CALL,
    "before_tool_call": InterceptionPoint.PRE_TOOL_CALL,
    "after_tool_call": InterceptionPoint.POST_TOOL_CALL,
}
"""Points by their names in `_registered_hook_functions`; others are there by their values."""

_made: contextvars.ContextVar[list[Any] | None] = contextvars.ContextVar(
    "a2a_adapters_crewai_bases", default=None
)
"""The objects that the current run has made; None outside of runs."""


def is_crew_base(target: object) -> bool:
    """Whether it is a class decorated with `@CrewBase`, or an object of one."""
    return bool(getattr(target, "is_crew_class", False))


def crew_base_of(crew: Crew) -> Any:
    """Return the object of a `@CrewBase` class whose method has made a crew, or None.

    CrewAI adds the method of that object that closes its MCP servers to each crew.
    """
    methods = filter(None, map(_closing_method, crew.after_kickoff_callbacks))
    return next((method.__self__ for method in methods), None)


def closes_servers(callback: object) -> bool:
    """Whether a callback after the kickoff is the one that CrewAI adds."""
    return _closing_method(callback) is not None


def _closing_method(callback: object) -> Any:
    cells = getattr(callback, "__closure__", None) or ()
    hooks = (cell.cell_contents for cell in cells)
    own = crew_base.close_mcp_server
    return next((hook for hook in hooks if getattr(hook, "__func__", None) is own), None)


def hook_points(base: Any) -> list[InterceptionPoint]:
    """Return the points at which an object of a `@CrewBase` class has hooks."""
    return [point for point, _ in _hooks_of(base)]


def unregister_hooks(base: Any) -> None:
    """Unregister the hooks of an object that is never run."""
    for point, hook in _hooks_of(base):
        unregister(point, hook)


@contextmanager
def own_crew_bases() -> Iterator[None]:
    """Keep the hooks and the memory of objects that are made in this context from others."""
    _watch()
    made: list[Any] = []
    token = _made.set(made)
    try:
        with scoped_hooks({point: get_scoped_hooks(point) for point in InterceptionPoint}):
            yield
    finally:
        _made.reset(token)
        for base in made:
            _forget(base)


@functools.cache
def _watch() -> None:
    """Take over the hooks of new objects, once per process."""
    register: Callable[[Any, type], None] = crew_base._register_crew_hooks  # noqa: SLF001

    def register_for_run(base: Any, kind: type) -> None:
        register(base, kind)
        if (made := _made.get()) is not None:
            made.append(base)
            unregister_hooks(base)
            for point, hook in _hooks_of(base):
                register_scoped(point, hook)

    patched: Any = crew_base
    patched._register_crew_hooks = register_for_run  # noqa: SLF001


def _hooks_of(base: Any) -> list[tuple[InterceptionPoint, Any]]:
    hooks = getattr(base, "_registered_hook_functions", ())
    return [(_POINTS.get(name) or InterceptionPoint(name), hook) for name, hook in hooks]


def _forget(base: Any) -> None:
    """Drop what the methods of an object have returned, which CrewAI finds by the object's id."""
    mark = f"('__instance__', {id(base)})"
    with cache._lock.w_locked():  # noqa: SLF001 - nothing public drops an entry
        results = cache._cache  # noqa: SLF001
        for key in [key for key in results if mark in key]:
            del results[key]
