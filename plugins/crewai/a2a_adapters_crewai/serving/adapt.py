"""Picks the adapter for a target."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from crewai import Crew, Flow
from crewai.agents.agent_builder.base_agent import BaseAgent

import a2a_adapters
from a2a_adapters import Adapter, Factory, adapt_made
from a2a_adapters_crewai.serving.agent import AgentAdapter
from a2a_adapters_crewai.serving.crew import CrewAdapter
from a2a_adapters_crewai.serving.flow import FlowAdapter
from a2a_adapters_crewai.serving.options import Options
from a2a_adapters_crewai.serving.runs import MAX_ASKING, MAX_RUNS
from a2a_adapters_crewai.serving.targets import as_target, is_crew_base, is_flow_class

if TYPE_CHECKING:
    from a2a_adapters import OutboundPolicy
    from a2a_adapters_crewai.serving.inputs import ReadInputs


def adapt(  # noqa: PLR0913 - a choice each
    target: object,
    *,
    input: ReadInputs | None = None,  # noqa: A002 - as for the other frameworks
    text_key: str | None = None,
    history_key: str | None = None,
    task_outputs: bool = False,
    tokens: bool = False,
    max_runs: int = MAX_RUNS,
    max_asking: int = MAX_ASKING,
    shared_memory: bool = False,
    fetch: OutboundPolicy | None = None,
) -> Adapter:
    """Wrap a crew, a flow, an agent, a class of one or a function that makes one, with options.

    Args:
        target: What answers. A function may be `async`, or of `asynccontextmanager`.
        input: Makes the inputs of a request, in place of the rules for placeholders and states.
            It may raise `InvalidInputError`. This and the next three are for crews and flows.
        text_key: The placeholder, or field of the state, that gets the text, where there are
            several; of a state by default the only one, or `message`.
        history_key: The one that gets what was said before in the conversation.
        task_outputs: Whether the outputs of the tasks before a crew's last, and of all tasks
            inside of a flow, are sent, too, each as soon as it is there.
        tokens: Whether the models' text is reported as progress, word by word. It holds what
            the agents think and what they call tools with.
        max_runs: How many runs work at the same time.
        max_asking: How many questions of `Flow.ask()` wait for their callers at the same time, each
            in a thread of about 100 KB; one more is refused. Reviews of crews that run
            inside of a method count as well.
        shared_memory: Whether a crew's memory may tell one caller what another one said.
        fetch: From where files that callers name by their addresses are fetched; without it such
            files are refused.

    Raises:
        TargetError: It cannot be served as it is, or an option is not for its kind.
    """
    options = Options(
        input=input,
        text_key=text_key,
        history_key=history_key,
        task_outputs=task_outputs,
        tokens=tokens,
        max_runs=max_runs,
        max_asking=max_asking,
        shared_memory=shared_memory,
        fetch=fetch,
    )
    return adapt_made(target, partial(_adapter, options=options))


def adapt_if_ours(target: object) -> Adapter | None:
    """Wrap what is surely crewai's, pass on anything else."""
    example = target.example if isinstance(target, Factory) else target
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
"""`serve` under the name that CrewAI's users look for."""
