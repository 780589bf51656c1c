"""Objects of `@CrewBase` classes: each run has its own, and they end with it.

CrewAI calls the hook methods of such an object for every crew in the process, and keeps the object,
and what its other methods have returned, for ever. Here the hooks of an object that a run has made
are called in the runs that use it, and what it has returned is forgotten after the run. Those of an
object that is made in a thread without the context of a run are for its own crew and that thread.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import re
import threading
import weakref
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from crewai.agents.cache.cache_handler import CacheHandler
from crewai.hooks import InterceptionPoint
from crewai.hooks.dispatch import register, unregister
from crewai.project import crew_base, utils

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


@dataclass(slots=True)
class _Run:
    """The objects of a run: those that it has made, and others of which it uses something."""

    made: list[Any] = field(default_factory=list)
    used: list[Any] = field(default_factory=list)
    is_over: bool = False

    def has(self, base: Any) -> bool:
        return any(each is base for each in (*self.made, *self.used))


_bases: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""The objects, by their ids, by which CrewAI finds what their methods have returned."""

_ID = re.compile(r"\('__instance__', (\d+)\)")
"""The id of an object in a key of that memory."""

_run: contextvars.ContextVar[_Run | None] = contextvars.ContextVar(
    "a2a_adapters_crewai_bases", default=None
)
"""The current run; None outside of runs, and in threads without the context of one."""


class OwnHook:
    """A hook of an object, for the runs of that object. It does not keep the object."""

    def __init__(self, base: Any, hook: Any, run: _Run | None) -> None:
        self._base, self._hook, self._run = weakref.ref(base), weakref.ref(hook), run
        self._thread = threading.get_ident()

    def __call__(self, context: Any) -> Any:
        """Call the hook, unless this is about the run of another object."""
        hook = self._hook()
        return hook(context) if hook is not None and self._concerns(context) else None

    def is_of_current_run(self) -> bool:
        """Whether the current run has made the object, or uses something of it."""
        run = _run.get()
        return run is not None and run.has(self._base())

    def _concerns(self, context: Any) -> bool:
        crew = getattr(context, "crew", None)
        base = crew_base_of(crew) if crew else None
        if self.is_of_current_run() or (base is not None and base is self._base()):
            return True
        if _run.get() is not None:
            return False
        # A thread without a context does not tell its run: CrewAI would call the hook.
        if self._run is None:
            return base is None and self._thread == threading.get_ident()
        return (base is None or self._run.has(base)) and not self._run.is_over


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
    run = _Run()
    token = _run.set(run)
    try:
        yield
    finally:
        _run.reset(token)
        run.is_over = True
        for base in run.made:
            _forget(base)
        run.made.clear()
        run.used.clear()


def use_crew_base(base: Any) -> None:
    """Have the hooks of an object called in the current run, which uses what it has made."""
    run = _run.get()
    if run is not None and base is not None and not run.has(base):
        run.used.append(base)


class _Memory(CacheHandler):
    """What the methods of objects have returned. A run that asks for it uses the object."""

    def read(self, tool: str, input: str) -> Any:  # noqa: A002 - the name in crewai
        """Return what a method has returned, or None."""
        for found in _ID.findall(input):
            use_crew_base(_bases.get(int(found)))
        return super().read(tool, input)


@functools.cache
def _watch() -> None:
    """Take over the hooks of new objects, once per process."""
    register_hooks: Callable[[Any, type], None] = crew_base._register_crew_hooks  # noqa: SLF001

    def register_for_run(base: Any, kind: type) -> None:
        register_hooks(base, kind)
        _bases[id(base)] = base
        run = _run.get()
        if run is not None:
            run.made.append(base)
        elif not _is_in_thread_of_ones_own():
            return
        unregister_hooks(base)
        for point, hook in _hooks_of(base):
            own = OwnHook(base, hook, run)
            register(point, own)
            weakref.finalize(base, unregister, point, own).atexit = False

    memory = _Memory()
    memory._cache = utils.cache._cache  # noqa: SLF001
    utils.cache = memory
    patched: Any = crew_base
    patched._register_crew_hooks = register_for_run  # noqa: SLF001


def _is_in_thread_of_ones_own() -> bool:
    """Whether code without the context of a run may belong to one, as in a pool of threads."""
    if threading.current_thread() is threading.main_thread():
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


def _hooks_of(base: Any) -> list[tuple[InterceptionPoint, Any]]:
    hooks = getattr(base, "_registered_hook_functions", ())
    return [(_POINTS.get(name) or InterceptionPoint(name), hook) for name, hook in hooks]


def _forget(base: Any) -> None:
    """Drop what the methods of an object have returned, which CrewAI finds by the object's id."""
    mark = f"('__instance__', {id(base)})"
    with utils.cache._lock.w_locked():  # noqa: SLF001 - nothing public drops an entry
        results = utils.cache._cache  # noqa: SLF001
        for key in [key for key in results if mark in key]:
            del results[key]
