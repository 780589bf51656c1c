"""A single agent as an adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from crewai import Agent
from crewai.crews.utils import enable_agent_streaming

from a2a_adapters import AgentEvent, AgentRequest, TargetError, Turn, as_text
from a2a_adapters_crewai.serving.base import RunsAdapter
from a2a_adapters_crewai.serving.card import describe_agent
from a2a_adapters_crewai.serving.files import input_files
from a2a_adapters_crewai.serving.options import Options
from a2a_adapters_crewai.serving.results import value_output
from a2a_adapters_crewai.serving.run import Run
from a2a_adapters_crewai.serving.speech import Speech
from a2a_adapters_crewai.serving.targets import as_target

if TYPE_CHECKING:
    from crewai.lite_agent_output import LiteAgentOutput
    from crewai.utilities.types import LLMMessage

    from a2a_adapters_crewai.serving.runs import Events


class AgentAdapter(RunsAdapter):
    """Serves agents that belong to no crew. Each run has a copy; conversations are remembered.

    Args:
        agent: An agent, or a function that returns one.
        options: How it is served; it has no inputs, tasks or memory.

    Raises:
        TargetError: It is no agent, has a memory that all callers would share, or an option is
            not for agents.
    """

    uses_history = True

    def __init__(self, agent: object, options: Options | None = None) -> None:
        target, options = as_target(agent), options or Options()
        example = target.example
        if not isinstance(example, Agent):
            raise TargetError(f"{type(example).__name__} is no agent of crewai")
        if options.input or options.text_key or options.history_key or options.task_outputs:
            raise TargetError(
                "input, text_key, history_key and task_outputs are for crews and flows"
            )
        if options.shared_memory:
            raise TargetError("shared_memory is for crews")
        if example.memory:
            raise TargetError(
                "this agent has a memory, which would tell every caller what the others have "
                "said; conversations are remembered without it"
            )
        super().__init__(target, options, describe_agent(example))

    def stream(self, request: AgentRequest) -> Events:
        """Ask the agent.

        Raises:
            InvalidInputError: The message holds files that cannot be taken.
        """
        messages = [*map(_message, request.history), _message(Turn("user", request.parts))]
        files = dict(input_files(request.parts))
        speech = Speech()
        news = self._news(request, speech)

        async def kickoff(_: Run) -> LiteAgentOutput:
            agent: Agent = await self._new()
            speech.follow_agent(agent)
            if self._tokens:
                enable_agent_streaming([agent])
            if agent.mcps:  # connecting to their servers blocks
                kickoff = partial(agent.kickoff, messages, input_files=files or None)
                return cast("LiteAgentOutput", await asyncio.to_thread(kickoff))
            return await agent.akickoff(messages, input_files=files or None)

        def finish(result: LiteAgentOutput) -> Iterator[AgentEvent]:
            yield from speech.finish(value_output(result))
            yield from news.usage()

        run = Run(request, kickoff, news)
        return self._runs.answer(run, finish)


def _message(turn: Turn) -> LLMMessage:
    content = as_text(turn.parts).strip()
    if turn.role == "user":
        return {"role": "user", "content": content}
    return {"role": "assistant", "content": content}
