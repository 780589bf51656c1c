"""A single agent as an adapter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crewai import Agent
from crewai.crews.utils import enable_agent_streaming

from a2a_adapters import Adapter, AgentDescription, AgentEvent, AgentRequest, TargetError, Turn
from a2a_adapters_crewai._card import describe_agent
from a2a_adapters_crewai._files import input_files
from a2a_adapters_crewai._guard import watch_calls
from a2a_adapters_crewai._news import News
from a2a_adapters_crewai._results import value_output
from a2a_adapters_crewai._run import Run
from a2a_adapters_crewai._runs import MAX_RUNS, Events, Runs
from a2a_adapters_crewai._targets import as_target
from a2a_adapters_crewai._values import text_of

if TYPE_CHECKING:
    from crewai.lite_agent_output import LiteAgentOutput
    from crewai.utilities.types import LLMMessage


class AgentAdapter(Adapter):
    """Serves agents that belong to no crew. Each run has a copy; conversations are remembered.

    Args:
        agent: An agent, or a function that returns one.
        tokens: Whether the model's text is reported as progress, word by word.
        max_runs: How many runs work at the same time.

    Raises:
        TargetError: It is no agent, or has a memory that all callers would share.
    """

    uses_history = True

    def __init__(self, agent: object, *, tokens: bool = False, max_runs: int = MAX_RUNS) -> None:
        target = as_target(agent)
        example, self._make = target.example, target.make
        if not isinstance(example, Agent):
            raise TargetError(f"{type(example).__name__} is no agent of crewai")
        if example.memory:
            raise TargetError(
                "this agent has a memory, which would tell every caller what the others have "
                "said; conversations are remembered without it"
            )
        self._tokens = tokens
        self._runs = Runs(max_runs)
        self._description = describe_agent(example)
        watch_calls()

    def describe(self) -> AgentDescription:
        """Describe the agent by its role and goal."""
        return self._description

    def stream(self, request: AgentRequest) -> Events:
        """Ask the agent.

        Raises:
            InvalidInputError: The message holds files that cannot be taken.
        """
        messages = [*map(_message, request.history), _message(Turn("user", request.parts))]
        files = dict(input_files(request.parts))
        news = News(wants_progress=request.wants_progress, tokens=self._tokens)

        async def kickoff(_: Run) -> LiteAgentOutput:
            agent: Agent = self._make()
            if self._tokens:
                enable_agent_streaming([agent])
            return await agent.akickoff(messages, input_files=files or None)

        def finish(result: LiteAgentOutput) -> Iterator[AgentEvent]:
            yield from value_output(result)
            yield from news.usage()

        run = Run(request, kickoff, news)
        return self._runs.answer(run, finish)

    async def aclose(self) -> None:
        """End the loop of the runs."""
        self._runs.stop()


def _message(turn: Turn) -> LLMMessage:
    content = text_of(turn.parts)
    if turn.role == "user":
        return {"role": "user", "content": content}
    return {"role": "assistant", "content": content}
