"""Looks into composed runnables: what they begin and end with."""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias

from langchain_core.language_models import BaseLanguageModel
from langchain_core.output_parsers import BaseOutputParser, StrOutputParser
from langchain_core.prompts import BasePromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.configurable import DynamicRunnable
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_core.runnables.passthrough import RunnableAssign
from langchain_core.tools import BaseTool

AnyRunnable: TypeAlias = Runnable[Any, Any]

_WHOLE = (BasePromptTemplate, BaseRetriever, BaseTool, RunnableAssign, RunnableParallel)


def unwrapped(runnable: AnyRunnable) -> AnyRunnable:
    """Return what is inside of bindings, retries, fallbacks and configurable runnables."""
    while not isinstance(runnable, RunnableWithMessageHistory):
        match runnable:
            case RunnableBindingBase() if runnable.custom_input_type is None:
                runnable = runnable.bound
            case DynamicRunnable():
                runnable = runnable.default
            case RunnableWithFallbacks():
                runnable = runnable.runnable
            case _:
                break
    return runnable


def first_step(runnable: AnyRunnable) -> AnyRunnable:
    """Return what the input goes into."""
    while isinstance(runnable := unwrapped(runnable), RunnableSequence):
        runnable = runnable.first
    return runnable


def last_step(runnable: AnyRunnable) -> AnyRunnable:
    """Return what the output comes from."""
    while isinstance(runnable := unwrapped(runnable), RunnableSequence):
        runnable = runnable.last
    return runnable


def all_steps(runnable: AnyRunnable) -> list[AnyRunnable]:
    """Return the steps one after the other, each unwrapped."""
    if isinstance(runnable := unwrapped(runnable), RunnableSequence):
        return [inner for step in runnable.steps for inner in all_steps(step)]
    return [runnable]


def is_model(runnable: AnyRunnable) -> bool:
    """Whether it is nothing but a language model."""
    return isinstance(unwrapped(runnable), BaseLanguageModel)


def blocks_only(runnable: AnyRunnable) -> bool:
    """Whether it is a blocking generator function, for which LangChain has no async way."""
    return isinstance(runnable, RunnableGenerator) and not hasattr(runnable, "_atransform")


def answers_whole(runnable: AnyRunnable) -> bool:
    """Whether the answer comes at once, so that there is nothing to stream.

    Parsers of structured output do stream, but snapshots that a caller has no use for.
    """
    last = last_step(runnable)
    if isinstance(last, RunnableLambda):
        return not _can_stream(last)
    if isinstance(last, BaseOutputParser):
        return not isinstance(last, StrOutputParser)
    return isinstance(last, _WHOLE)


def _can_stream(step: RunnableLambda[Any, Any]) -> bool:
    """Whether a function is a generator, or may return a runnable that streams."""
    function = getattr(step, "func", None) or step.afunc
    is_generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    return is_generator or bool(step.deps)
