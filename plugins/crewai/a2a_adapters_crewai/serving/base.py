"""What the adapters of crews, flows and agents have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import Adapter, AgentDescription
from a2a_adapters_crewai.serving.guard import watch_calls
from a2a_adapters_crewai.serving.inputs import NamedInputs
from a2a_adapters_crewai.serving.progress import News
from a2a_adapters_crewai.serving.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import JSON, AgentRequest
    from a2a_adapters_crewai.serving.inputs import ReadInputs
    from a2a_adapters_crewai.serving.options import Options
    from a2a_adapters_crewai.serving.progress import OnTask
    from a2a_adapters_crewai.serving.speech import Speech
    from a2a_adapters_crewai.serving.targets import Target


class RunsAdapter(Adapter):
    """Gives each run an object of its own.

    Args:
        target: Makes them.
        options: How it is served.
        description: What the card says.
    """

    def __init__(self, target: Target, options: Options, description: AgentDescription) -> None:
        self.fetch = options.fetch
        self._new = target.new
        self._tokens = options.tokens
        self._on_task: OnTask | None = None
        self._runs = Runs(options.max_runs, options.max_asking)
        self._description = description
        watch_calls()

    def describe(self) -> AgentDescription:
        """Describe what is served by what it says of itself."""
        return self._description

    async def aclose(self) -> None:
        """End the loop of the runs."""
        self._runs.stop()

    def _news(
        self, request: AgentRequest, speech: Speech, usage_before: Mapping[str, JSON] | None = None
    ) -> News:
        return News(
            wants_progress=request.wants_progress,
            tokens=self._tokens,
            on_task=self._on_task,
            usage_before=usage_before,
            speech=speech,
        )


class InputsAdapter(RunsAdapter):
    """Kicks off what takes inputs by name.

    Args:
        target: Makes what is kicked off.
        options: How it is served.
        description: What the card says.
        read: Makes the inputs of a request.
    """

    def __init__(
        self, target: Target, options: Options, description: AgentDescription, read: ReadInputs
    ) -> None:
        super().__init__(target, options, description)
        self._input = read
        self.uses_history = not isinstance(read, NamedInputs) or bool(read.history_key)
