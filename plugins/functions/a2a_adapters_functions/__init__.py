"""Serves plain Python functions. Other plugins have precedence."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl
from a2a_adapters_functions.serving.adapter import FunctionAdapter
from a2a_adapters_functions.wrapping import advice

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters.plugin import Adapter

__all__ = ["FunctionAdapter", "adapt"]


def adapt(
    function: Callable[..., object],
    *,
    name: str | None = None,
    description: str | None = None,
    durable: bool = False,
) -> Adapter:
    """Wrap a function, with options; see `FunctionAdapter`.

    Raises:
        TargetError: A message cannot set the function's arguments, or JSON cannot express one.
    """
    return FunctionAdapter(function, name=name, description=description, durable=durable)


@hookimpl(trylast=True)
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap a function, a method or a `functools.partial` of one."""
    if inspect.isfunction(target) or inspect.ismethod(target) or isinstance(target, partial):
        return FunctionAdapter(target)
    return None


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "a function or a method"


@hookimpl
def a2a_hint(target: object) -> str | None:
    """Return the function that serves an object of a framework without a plugin."""
    return advice(target)
