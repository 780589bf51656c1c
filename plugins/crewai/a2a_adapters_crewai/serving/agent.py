"""A single agent as an adapter."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from crewai import Agent
from crewai.crews.utils import enable_agent_streaming

from a2a_adapters import AgentRequest, Output, TargetError
from a2a_adapters.plugin import Turn, as_text
from a2a_adapters_crewai.serving.base import Options, RunsAdapter
from a2a_adapters_crewai.serving.card import describe_agent
from a2a_adapters_crewai.serving.guardrails import ALONE, needs_thread
from a2a_adapters_crewai.serving.input import input_files
from a2a_adapters_crewai.serving.output import result_output
from a2a_adapters_crewai.serving.targets import as_target

if TYPE_CHECKING:
    from crewai.utilities.types import LLMMessage

    from a2a_adapters_crewai.serving.base import Events
    from a2a_adapters_crewai.serving.crew_run import CrewRun


class AgentAdapter(RunsAdapter):
    """Serves agents outside of crews. Each run has a copy and receives the conversation.

    Args:
        agent: An agent, or a function that returns one.
        options: The options; those for inputs, tasks and memory are refused.

    Raises:
        TargetError: The target is not an agent, has a memory that all callers would share, or an
            option is not for agents.
    """

    def __init__(self, agent: object, options: Options | None = None) -> None:
        target, options = as_target(agent), options or Options()
        example = target.example
        if not isinstance(example, Agent):
            raise TargetError(f"{type(example).__name__} is not an agent of crewai")
        if options.input or options.text_key or options.history_key or options.task_outputs:
            raise TargetError(
                "input, text_key, history_key and task_outputs are for crews and flows"
            )
        if options.stream_methods:
            raise TargetError("stream_methods is for flows; an agent has no methods")
        if options.shared_memory:
            raise TargetError("shared_memory is for crews")
        if example.memory:
            raise TargetError(
                "this agent has a memory, which would reveal the messages of all callers to each "
                "other; conversations are remembered without it"
            )
        super().__init__(target, options, describe_agent(example))

    def stream(self, request: AgentRequest) -> Events:
        """Kick off the agent.

        Raises:
            InvalidInputError: The message has files, which are not supported here.
        """
        messages = [*map(_message, request.history), _message(Turn("user", request.parts))]
        files = input_files(request.parts)

        async def work(run: CrewRun) -> Output | None:
            agent: Agent = await self._new()
            run.answer.follow_agent(agent)
            if self._tokens:
                enable_agent_streaming([agent])
            # Connecting to MCP servers blocks, and guardrails retry only outside of event loops.
            if needs_thread([agent], ALONE, is_blocking=agent.mcps):
                kickoff = partial(agent.kickoff, messages, input_files=files)
                return result_output(await asyncio.to_thread(kickoff))
            return result_output(await agent.akickoff(messages, input_files=files))

        return self._run(request, work)


def _message(turn: Turn) -> LLMMessage:
    content = as_text(turn.parts).strip()
    return {"role": "user" if turn.role == "user" else "assistant", "content": content}
