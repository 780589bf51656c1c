"""Finds what may change or withhold the text of an agent after its model has streamed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import FallbackExceptionGroup, RetryModelRequest
from pydantic_ai.agent import WrapperAgent
from pydantic_ai.capabilities import (
    AbstractCapability,
    DynamicCapability,
    Hooks,
    ModelFallback,
    RaiseContentFilterError,
    WrapperCapability,
)
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from a2a_adapters_pydantic_ai.serving.failures import is_of_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai.agent import AbstractAgent

_ON_RESPONSES = (
    "after_model_request", "wrap_model_request", "on_model_request_error",
    "after_node_run", "wrap_node_run", "on_node_run_error",
)  # fmt: skip
_ON_OUTPUT = (
    "before_output_validate", "after_output_validate", "wrap_output_validate",
    "on_output_validate_error", "before_output_process", "after_output_process",
    "wrap_output_process", "on_output_process_error", "after_run", "wrap_run", "on_run_error",
    "for_run",  # returns another capability, which is not known before
)  # fmt: skip


def checks_output(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent may change or refuse its final output, which is then all that it checks."""
    return validates_output(agent) or any(_overrides(each, _ON_OUTPUT) for each in _parts(agent))


def checks_responses(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent may change or refuse each response of its model."""
    return any(_overrides(each, _ON_RESPONSES) for each in _parts(agent))


def validates_output(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent has output validators, which may refuse or change its text."""
    while isinstance(agent, WrapperAgent):
        agent = agent.wrapped
    # There is no public name; other kinds of agents have none.
    return bool(getattr(agent, "_output_validators", None))


def judges_whole_responses(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether something of an agent judges only responses that are not streamed.

    These are handlers of a fallback that look at responses, and models that override `request`.
    """
    judges = [*_parts(agent), *_models(agent)]
    return any(_judges(getattr(each, "_predicates", None)) for each in judges) or any(
        _definer(type(model), "request_stream") in _definer(type(model), "request").__mro__[1:]
        for model in _models(agent)
    )


def tries_again(error: Exception, agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent that fails in the middle of a stream would try again without one."""
    if isinstance(error.__cause__, RetryModelRequest):
        return True
    if isinstance(error, FallbackExceptionGroup) or not is_of_model(error):
        return False
    return any(isinstance(each, ModelFallback) for each in _parts(agent)) or any(
        isinstance(model, FallbackModel) for model in _models(agent)
    )


def _parts(agent: AbstractAgent[Any, Any]) -> list[AbstractCapability[Any]]:
    found: list[AbstractCapability[Any]] = []
    agent.root_capability.apply(found.append)
    for each in found:
        if isinstance(each, WrapperCapability):
            each.wrapped.apply(found.append)
    return found


def _models(agent: AbstractAgent[Any, Any]) -> Iterator[Model[Any]]:
    model = agent.model
    while isinstance(model, WrapperModel):
        yield model
        model = model.wrapped
    if isinstance(model, Model):
        yield model


def _overrides(capability: AbstractCapability[Any], hooks: tuple[str, ...]) -> bool:
    kind = type(capability)
    if kind is RaiseContentFilterError:
        return hooks is _ON_RESPONSES
    if kind is DynamicCapability:  # a function makes it for each run
        return True
    bases = (Hooks, WrapperCapability, AbstractCapability)
    base = next(base for base in bases if issubclass(kind, base))
    if base is AbstractCapability and kind.__module__.startswith("pydantic_ai."):
        return False  # the framework's own only observe, or act before the model
    registered = getattr(capability, "_registry", {})  # of `Hooks`, without a public name
    return any(
        getattr(kind, hook) is not getattr(base, hook) or hook in registered for hook in hooks
    )


def _judges(predicates: Any) -> bool:
    return predicates is not None and bool(
        predicates.response_handlers or predicates.content_filter or predicates.output_token_limit
    )


def _definer(kind: type, name: str) -> type:
    return next(each for each in kind.__mro__ if name in vars(each))
