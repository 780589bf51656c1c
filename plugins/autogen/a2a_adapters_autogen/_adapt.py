"""Picks the adapter for a target."""

from __future__ import annotations

import inspect
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from autogen_agentchat.base import ChatAgent, Team

from a2a_adapters_autogen._adapter import AutoGenAdapter

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from a2a_adapters import Adapter, Limits
    from a2a_adapters_autogen._runners import Runner
    from a2a_adapters_autogen._store import StateStore
    from a2a_adapters_autogen._telling import Final

_TELL_NOTHING = (None, Any, object)

logger = logging.getLogger(__name__)


def adapt(
    target: Runner | Callable[[], Any],
    *,
    final: Final = "last",
    strip_terminate: bool = True,
    input_type: type[BaseModel] | None = None,
    max_messages: int = 50,
    store: StateStore | None = None,
    limits: Limits | None = None,
) -> Adapter:
    """Wrap an agent, a team or a function that makes one, with options.

    The arguments are those of `AutoGenAdapter`.

    Raises:
        TargetError: It cannot be served as it is.
    """
    return AutoGenAdapter(
        target,
        final=final,
        strip_terminate=strip_terminate,
        input_type=input_type,
        max_messages=max_messages,
        store=store,
        limits=limits,
    )


def adapt_if_ours(target: object) -> Adapter | None:
    """Wrap an agent, a team or a function that makes one; pass on anything else."""
    if isinstance(target, ChatAgent | Team):
        return AutoGenAdapter(target)
    if callable(target) and _is_factory(target):
        return AutoGenAdapter(target)
    return None


def _is_factory(target: Callable[..., Any]) -> bool:
    """Whether a function without arguments makes agents or teams.

    Its annotation tells. One without is called once to see; an async one, which cannot be, is
    taken for a factory, for there is nothing else that such a function could be.
    """
    if not _takes_nothing(target):
        return False
    hint = _returned(target)
    if hint not in _TELL_NOTHING:
        return any(
            inspect.isclass(kind) and issubclass(kind, ChatAgent | Team)
            for kind in (hint, *get_args(hint))
        )
    if inspect.iscoroutinefunction(target):
        return True
    try:
        made = target()
    except Exception as error:  # whatever it does, it is not known to be ours
        logger.debug("%r is not a factory of agents", target, exc_info=error)
        return False
    if inspect.iscoroutine(made):
        made.close()
    return isinstance(made, ChatAgent | Team)


def _takes_nothing(target: Callable[..., Any]) -> bool:
    if not (inspect.isfunction(target) or inspect.ismethod(target) or isinstance(target, partial)):
        return False
    return all(
        parameter.default is not inspect.Parameter.empty
        or parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        for parameter in inspect.signature(target).parameters.values()
    )


def _returned(target: Callable[..., Any]) -> Any:
    while isinstance(target, partial):
        target = target.func
    try:
        return get_type_hints(target).get("return")
    except Exception:  # annotations only a type checker can resolve say nothing here
        return None
