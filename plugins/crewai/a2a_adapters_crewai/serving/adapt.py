"""Selects the adapter for a target."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from crewai import Crew, Flow
from crewai.agents.agent_builder.base_agent import BaseAgent

import a2a_adapters
from a2a_adapters.plugin import Adapter, adapt_made, example_of
from a2a_adapters_crewai.serving.agent import AgentAdapter
from a2a_adapters_crewai.serving.base import MAX_ASKING, MAX_RUNS, Options
from a2a_adapters_crewai.serving.crew import CrewAdapter
from a2a_adapters_crewai.serving.crew_bases import is_crew_base, own_crew_bases
from a2a_adapters_crewai.serving.flow import FlowAdapter
from a2a_adapters_crewai.serving.targets import as_target, is_flow_class

if TYPE_CHECKING:
    from collections.abc import Collection

    from a2a_adapters import OutboundPolicy
    from a2a_adapters_crewai.serving.input import ReadInputs


def adapt(  # noqa: PLR0913 - a choice each
    target: object,
    *,
    input: ReadInputs | None = None,  # noqa: A002 - as for the other frameworks
    text_key: str | None = None,
    history_key: str | None = None,
    task_outputs: bool = False,
    tokens: bool = False,
    stream_methods: Collection[str] = (),
    max_runs: int = MAX_RUNS,
    max_asking: int = MAX_ASKING,
    shared_memory: bool = False,
    fetch: OutboundPolicy | None = None,
) -> Adapter:
    """Wrap a crew, a flow, an agent, a class of one or a function that makes one, with options.

    Args:
        target: The target. A function may be `async`, or decorated with `asynccontextmanager`.
        input: Makes the inputs of a request, in place of the rules for placeholders and states.
            It may raise `InvalidInputError`. This and the next three are for crews and flows.
        text_key: The placeholder or field of the state for the text, if there are several; the
            default of a state is its only field, or `message`.
        history_key: The placeholder or field for the earlier messages of the conversation.
        task_outputs: Whether the outputs of a crew's tasks before the last one, and of all tasks
            inside a flow, are sent as artifacts, each as soon as its task has finished.
        tokens: Whether the text of models is reported as progress while it is produced. It
            includes thoughts and the arguments of tool calls.
        stream_methods: The methods of a flow whose tokens are the answer, see `FlowAdapter`.
        max_runs: The maximum number of runs that work at the same time.
        max_asking: The maximum number of questions of `Flow.ask()` that wait at the same time, each
            in a thread of about 100 KB; further ones are refused. Reviews of crews that run
            inside a method of a flow count as well.
        shared_memory: Whether a crew's memory may reveal one caller's messages to others.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target cannot be served as it is, or an option does not apply to it.
    """
    options = Options(
        input=input,
        text_key=text_key,
        history_key=history_key,
        task_outputs=task_outputs,
        tokens=tokens,
        stream_methods=stream_methods,
        max_runs=max_runs,
        max_asking=max_asking,
        shared_memory=shared_memory,
        fetch=fetch,
    )
    with own_crew_bases():  # of examples, which are never run
        return adapt_made(target, partial(_adapter, options=options))


def adapt_if_ours(target: object) -> Adapter | None:
    """Wrap an object, class or factory of crewai; pass on anything else."""
    example = example_of(target)
    is_object = isinstance(example, Crew | Flow | BaseAgent)
    is_ours = is_object or is_crew_base(example) or is_flow_class(example)
    return adapt(target) if is_ours else None


def _adapter(target: object, options: Options) -> Adapter:
    known = as_target(target)
    if isinstance(known.example, Crew):
        return CrewAdapter(known, options)
    if isinstance(known.example, Flow):
        return FlowAdapter(known, options)
    return AgentAdapter(known, options)


serve_crew = a2a_adapters.serve
"""`serve`, under the name that CrewAI's users expect."""
