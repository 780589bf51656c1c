"""Options, and the base class of the adapters of crews, flows and agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_adapters import Adapter, AgentDescription, AgentRequest
from a2a_adapters_crewai.serving.input import ReadInputs, RequestInputs
from a2a_adapters_crewai.serving.output import OnTask, RunEvents
from a2a_adapters_crewai.serving.run import refuse_calls_after_runs
from a2a_adapters_crewai.serving.runs import MAX_ASKING, MAX_RUNS, Events, Refuse, Runs

if TYPE_CHECKING:
    from a2a_adapters import OutboundPolicy
    from a2a_adapters_crewai.serving.run import Work
    from a2a_adapters_crewai.serving.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `adapt`, for the constructors of the adapters."""

    input: ReadInputs | None = None
    text_key: str | None = None
    history_key: str | None = None
    task_outputs: bool = False
    tokens: bool = False
    max_runs: int = MAX_RUNS
    max_asking: int = MAX_ASKING
    shared_memory: bool = False
    fetch: OutboundPolicy | None = None


class RunsAdapter(Adapter):
    """Gives each run an object of its own.

    Args:
        target: Makes the objects.
        options: The options.
        description: The description for the card.
        read: Reads the inputs of a request; None if the target has no inputs.
        on_task: Makes the artifact of a finished task, for the option `task_outputs`.
    """

    def __init__(
        self,
        target: Target,
        options: Options,
        description: AgentDescription,
        read: ReadInputs | None = None,
        on_task: OnTask | None = None,
    ) -> None:
        self.fetch = options.fetch
        self.uses_history = not isinstance(read, RequestInputs) or bool(read.history_key)
        self._new = target.new
        self._tokens = options.tokens
        self._on_task = on_task if options.task_outputs else None
        self._runs = Runs(options.max_runs, options.max_asking)
        self._description = description
        refuse_calls_after_runs()

    def describe(self) -> AgentDescription:
        """Describe the target by its public texts."""
        return self._description

    async def aclose(self) -> None:
        """Stop the event loop of the runs."""
        self._runs.stop()

    def _run(self, request: AgentRequest, work: Work, refuse: Refuse | None = None) -> Events:
        """Run `work`, which returns the answer or a durable question, and yield its events."""
        events = RunEvents(request, tokens=self._tokens, on_task=self._on_task)
        return self._runs.answer(request, work, events, refuse)
