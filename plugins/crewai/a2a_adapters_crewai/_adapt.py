"""Picks the adapter for a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crewai import Crew, Flow
from crewai.agents.agent_builder.base_agent import BaseAgent

import a2a_adapters
from a2a_adapters import Adapter, ServerOptions, TargetError
from a2a_adapters_crewai._agent import AgentAdapter
from a2a_adapters_crewai._crew import CrewAdapter
from a2a_adapters_crewai._flow import FlowAdapter
from a2a_adapters_crewai._runs import MAX_RUNS
from a2a_adapters_crewai._targets import as_target, is_crew_base, is_factory, is_flow_class

if TYPE_CHECKING:
    from a2a_adapters_crewai._inputs import ReadInputs


def adapt(
    target: object,
    *,
    input: ReadInputs | None = None,  # noqa: A002 - as for the other frameworks
    text_key: str | None = None,
    history_key: str | None = None,
    task_outputs: bool = False,
    tokens: bool = False,
    max_runs: int = MAX_RUNS,
    shared_memory: bool = False,
) -> Adapter:
    """Wrap a crew, a flow, an agent, a class of one or a function that makes one, with options.

    Args:
        target: What answers.
        input: Makes the inputs of a request, in place of the rules for placeholders and states.
            It may raise `InvalidInputError`.
        text_key: The placeholder, or field of the state, that gets the text.
        history_key: The one that gets what was said before in the conversation.
        task_outputs: Whether the outputs of the tasks on the way are sent, too.
        tokens: Whether the models' text is reported as progress, word by word.
        max_runs: How many runs work at the same time.
        shared_memory: Of crews, see `CrewAdapter`.

    Raises:
        TargetError: It cannot be served as it is, or an option is not for its kind.
    """
    known = as_target(target)
    if isinstance(known.example, Crew):
        return CrewAdapter(
            known,
            input=input,
            text_key=text_key,
            history_key=history_key,
            task_outputs=task_outputs,
            tokens=tokens,
            max_runs=max_runs,
            shared_memory=shared_memory,
        )
    if shared_memory:
        raise TargetError("shared_memory is for crews")
    if isinstance(known.example, Flow):
        return FlowAdapter(
            known,
            input=input,
            text_key=text_key,
            history_key=history_key,
            task_outputs=task_outputs,
            tokens=tokens,
            max_runs=max_runs,
        )
    if input or text_key or history_key or task_outputs:
        raise TargetError("input, text_key, history_key and task_outputs are for crews and flows")
    return AgentAdapter(known, tokens=tokens, max_runs=max_runs)


def adapt_if_ours(target: object) -> Adapter | None:
    """Wrap what is surely crewai's, pass on anything else."""
    is_object = isinstance(target, Crew | Flow | BaseAgent)
    is_ours = is_object or is_crew_base(target) or is_flow_class(target) or is_factory(target)
    return adapt(target) if is_ours else None


def serve_crew(
    crew: object,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str | None = None,
    description: str | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
    allow_unauthenticated: bool = False,
) -> None:
    """Serve a crew, flow or agent as an A2A agent until interrupted.

    It also takes a function without annotations that makes one. The other arguments and the
    errors are those of `a2a_adapters.serve`.
    """
    a2a_adapters.serve(
        adapt(crew),
        host=host,
        port=port,
        name=name,
        description=description,
        url=url,
        options=options,
        allow_unauthenticated=allow_unauthenticated,
    )
