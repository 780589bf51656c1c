"""Finds what may change or withhold the text of an agent after its model has streamed it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic_ai import (
    AgentStreamEvent,
    FallbackExceptionGroup,
    FinalResultEvent,
    NativeOutput,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    PromptedOutput,
    RetryModelRequest,
    TextOutput,
    TextPart,
    TextPartDelta,
    ToolOutput,
)
from pydantic_ai.agent import AbstractAgent, WrapperAgent
from pydantic_ai.capabilities import (
    AbstractCapability,
    DynamicCapability,
    ModelFallback,
    ProcessEventStream,
    ProcessHistory,
    RaiseContentFilterError,
    WrapperCapability,
)
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, DynamicToolset, WrapperToolset

from a2a_adapters.plugin import overrides
from a2a_adapters_pydantic_ai.serving.failures import is_of_model
from a2a_adapters_pydantic_ai.serving.whole import judges, models_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_ai.agent import EventStreamHandler

_ON_RESPONSES = (
    "after_model_request", "wrap_model_request", "on_model_request_error",
    "before_node_run", "after_node_run", "wrap_node_run", "on_node_run_error",
    "wrap_run_event_stream",  # which may raise at its end
)  # fmt: skip
_ON_CALLS = (
    "before_tool_validate", "after_tool_validate", "wrap_tool_validate", "on_tool_validate_error",
    "before_tool_execute", "wrap_tool_execute", "get_wrapper_toolset",
)  # fmt: skip
_ON_RESULTS = (
    "before_model_request", "wrap_model_request", "before_node_run", "after_node_run",
    "wrap_node_run",
)  # fmt: skip
_ON_OUTPUT = (
    "before_output_validate", "after_output_validate", "wrap_output_validate",
    "on_output_validate_error", "before_output_process", "after_output_process",
    "wrap_output_process", "on_output_process_error", "after_run", "wrap_run", "on_run_error",
    "for_run",  # returns another capability, which is not known before
)  # fmt: skip
_EVENTS_OF_TEXT: tuple[AgentStreamEvent, ...] = (
    PartStartEvent(index=0, part=TextPart("")),
    PartDeltaEvent(index=0, delta=TextPartDelta("")),
    PartEndEvent(index=0, part=TextPart("")),
    FinalResultEvent(tool_name=None, tool_call_id=None),
)
_PACKAGES = ("pydantic_ai.", "a2a_adapters_pydantic_ai.")


def checks_output(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent may change or refuse its final output, and checks nothing else."""
    has_hooks = any(_overrides(each, _ON_OUTPUT) for each in _parts(agent))
    is_checked = validates_output(agent) or _runs_functions(agent.output_type)
    return has_hooks or is_checked or _changes_runs(agent)


def checks_responses(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent may change or refuse each response of its model."""
    return event_reader(agent) is not None or any(
        _overrides(each, _ON_RESPONSES) or _sees_text(each) for each in _parts(agent)
    )


def validates_output(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent has output validators, which may refuse or change its text."""
    while isinstance(agent, WrapperAgent):
        agent = agent.wrapped
    # There is no public name; other kinds of agents have none.
    return bool(getattr(agent, "_output_validators", None))


def _runs_functions(output_type: Any) -> bool:
    """Whether an output type has functions, which may refuse or change what the model has said."""
    match output_type:
        case TextOutput():
            return True
        case ToolOutput(output=inner) | NativeOutput(outputs=inner) | PromptedOutput(outputs=inner):
            return _runs_functions(inner)
        case list() | tuple():
            return any(map(_runs_functions, output_type))
    if get_origin(output_type) is not None:
        return any(map(_runs_functions, get_args(output_type)))
    return callable(output_type) and not isinstance(output_type, type)


def judges_whole_responses(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether a fallback of an agent looks at responses, which it does only without streaming."""
    return any(judges(getattr(each, "_predicates", None)) for each in _parts(agent))


def checks_arguments(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent may change or refuse the arguments of a tool call before it is made."""
    has_hooks = any(_overrides(each, _ON_CALLS) for each in _parts(agent))
    return has_hooks or any(map(_changes_calls, _toolsets(agent.toolsets)))


def checks_results(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether an agent may change or refuse the results of tools before its model gets them."""
    return any(
        isinstance(each, ProcessHistory) or _overrides(each, _ON_RESULTS) for each in _parts(agent)
    )


def event_reader(agent: AbstractAgent[Any, Any]) -> EventStreamHandler[Any] | None:
    """Return the event reader of a custom agent class, which may raise.

    Only `run` calls it by itself.
    """
    inner = agent
    while not overrides(inner, "event_stream_handler", _PACKAGES):
        if not isinstance(inner, WrapperAgent):
            return None
        inner = inner.wrapped
    return agent.event_stream_handler


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
    if isinstance(agent.model, Model):
        yield from models_in(agent.model)


def _toolsets(toolsets: Iterable[AbstractToolset[Any]]) -> Iterator[AbstractToolset[Any]]:
    for each in toolsets:
        yield each
        if isinstance(each, CombinedToolset):
            yield from _toolsets(each.toolsets)
        elif isinstance(each, WrapperToolset):
            yield from _toolsets([each.wrapped])


def _changes_calls(toolset: AbstractToolset[Any]) -> bool:
    """Whether a custom toolset wraps the calls of another, or of its base class."""
    # A function makes a dynamic one for each run.
    return isinstance(toolset, DynamicToolset) or overrides(
        toolset, "call_tool", _PACKAGES, interfaces=[AbstractToolset]
    )


def _changes_runs(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether a custom agent class, or an object, may change the result of a run."""
    return (
        overrides(agent, "run", _PACKAGES)
        or overrides(agent, "run_stream_events", _PACKAGES)
        or overrides(agent, "iter", _PACKAGES, interfaces=[AbstractAgent])
        or (isinstance(agent, WrapperAgent) and _changes_runs(agent.wrapped))
    )


def _sees_text(capability: AbstractCapability[Any]) -> bool:
    """Whether a capability gets the events of a text, and so may raise."""
    is_reader = isinstance(capability, ProcessEventStream)
    return is_reader or any(map(capability.listens_to, _EVENTS_OF_TEXT))


def _overrides(capability: AbstractCapability[Any], hooks: tuple[str, ...]) -> bool:
    if isinstance(capability, RaiseContentFilterError) and hooks is _ON_RESPONSES:
        return True
    if isinstance(capability, DynamicCapability):  # a function makes it for each run
        return True
    registered = getattr(capability, "_registry", {})  # of `Hooks`, without a public name
    return any(hook in registered or overrides(capability, hook, _PACKAGES) for hook in hooks)
