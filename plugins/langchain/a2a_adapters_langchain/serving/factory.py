"""Functions that make a graph of a run's configuration, as `langgraph.json` lists them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_HINTS = ("RunnableConfig", "langchain_core.runnables.RunnableConfig")


def makes_graphs(target: object) -> TypeGuard[Callable[[RunnableConfig], Any]]:
    """Whether it is a function of one argument, which is named or annotated as a configuration."""
    if not (inspect.isfunction(target) or inspect.ismethod(target)):
        return False
    if inspect.isgeneratorfunction(target) or inspect.iscoroutinefunction(target):
        return False
    required = [p for p in inspect.signature(target).parameters.values() if p.default is p.empty]
    if len(required) != 1:
        return False
    hint = required[0].annotation
    if hint is inspect.Parameter.empty:
        return required[0].name == "config"
    return getattr(hint, "__name__", hint) in _HINTS
