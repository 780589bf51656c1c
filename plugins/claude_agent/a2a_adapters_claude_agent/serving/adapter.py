"""An agent of the Claude Agent SDK as an adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from a2a_adapters import AgentRequest, InvalidInputError, Skill
from a2a_adapters.conversing import ConversingAdapter, Events
from a2a_adapters.plugin import (
    AgentDescription,
    Factory,
    check_arguments,
    example_of,
    per_request,
)
from a2a_adapters_claude_agent.serving import options as options_of
from a2a_adapters_claude_agent.serving.claude_run import Asked, ClaudeRun, Places
from a2a_adapters_claude_agent.serving.events import CHECKING, RunEvents
from a2a_adapters_claude_agent.serving.failures import check
from a2a_adapters_claude_agent.serving.input import as_prompt
from a2a_adapters_claude_agent.serving.questions import (
    KIND,
    AnyTurn,
    Paused,
    answered,
    called,
    question,
)
from a2a_adapters_claude_agent.serving.session import Session, Transcripts

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions

    from a2a_adapters import Limits, OutboundPolicy

_INPUT = ("text/plain", "application/json", "application/pdf", "image/*", "text/*")


class ClaudeAgentAdapter(ConversingAdapter[Transcripts, Paused, list[dict[str, Any]]]):
    """Serves an agent of the Claude Agent SDK.

    Each run has a process of Claude Code. The session of a conversation is kept in the server's
    storage and continued by the next run; a failed or cancelled run leaves it unchanged.

    Tools that Claude Code asks about become questions to the caller, which survive a restart of the
    server. Paths outside the working folders are refused without asking. Hooks run as they are; one
    that raises `BlockedError` rejects the task. With a `Stop` hook, the answer is held back until
    it has accepted it.

    From the server's environment, Claude Code gets its own variables (`ANTHROPIC_*`, `CLAUDE_*`,
    `DISABLE_*`) and those that every program needs, such as `PATH`. Others are empty;
    `ClaudeAgentOptions.env` adds to them.

    Args:
        options: The options of the agent, or a `Factory` that makes them for every run.
        options_for: Makes the options for a request, by default `options`; may be async.
        ask: Whether callers are asked about tools; otherwise tools that are not allowed are
            refused.
        expand_prompts: Whether commands (`/compact`) and mentions of files (`@path`) in messages
            are carried out. Only for callers who may read all files of the server.
        processes: The maximum number of processes. One that waits for its caller ends if another
            run needs its place.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: It is not a `ClaudeAgentOptions`, or an option would mix the callers' sessions.
    """

    def __init__(
        self,
        options: ClaudeAgentOptions | Factory,
        *,
        options_for: Callable[[AgentRequest], Any] | None = None,
        ask: bool = True,
        expand_prompts: bool = False,
        processes: int = 8,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        self._example = options_of.check(example_of(options))
        check_arguments(ClaudeAgentAdapter, locals(), {"processes"})
        super().__init__(KIND, limits=limits, fetch=fetch)
        self._make = per_request(options, options_for)
        self._asks = ask
        self._expands = expand_prompts
        self._places = Places(processes)
        self.holds_text = CHECKING in options_of.hooks(self._example)

    def describe(self) -> AgentDescription:
        """Describe the agent by its subagents."""
        subagents = (self._example.agents or {}).items()
        has_output = self._example.output_format is not None
        return AgentDescription(
            name="Claude",
            description="An agent of the Claude Agent SDK.",
            skills=[Skill.of(name, each.description, "subagent") for name, each in subagents],
            input_modes=_INPUT,
            output_modes=("text/plain", *(["application/json"] if has_output else [])),
        )

    def prompt(self, request: AgentRequest) -> list[dict[str, Any]]:
        """Return the message as content blocks.

        Raises:
            InvalidInputError: It has a file that models do not support.
        """
        return as_prompt(request)

    async def run(
        self, request: AgentRequest, turn: AnyTurn, prompt: list[dict[str, Any]] | None
    ) -> Events:
        """Run the agent, ask about its tools, and keep its session."""
        options = options_of.check(await self._make(request))
        folder = str(options_of.folders(options)[0])
        hooks = await asyncio.to_thread(options_of.hooks, options)
        paused = turn.before.paused
        while True:
            run = self._process(options, turn, prompt or [], paused)
            paused = None
            events = RunEvents(
                options,
                folder,
                hooks,
                wants_progress=request.wants_progress,
                streams=self.holds_text or CHECKING not in hooks,
            )
            async with aclosing(run.news()) as news:
                async for each in news:
                    if not isinstance(each, Asked):
                        for event in events.take(each):
                            yield event
                        continue
                    for event in events.withdraw():
                        yield event
                    paused = each.paused(request.task_id, run.session.transcripts, folder)
                    await turn.pause(paused)
                    with self._places.lent(run):
                        hint = ""
                        while paused.waiting:
                            reply = yield question(paused, hint)
                            assert reply is not None  # noqa: S101 - the executor sends it
                            paused, hint = _read(paused, reply)
                            await turn.pause(paused if paused.waiting else None)
                    if run.is_gone:
                        break
                    each.answer(paused)
                    paused = None
            if paused is None:
                break
        check(events.result, events.fault)
        for event in events.end():
            yield event
        await turn.complete(run.session.transcripts)

    def _process(
        self,
        options: ClaudeAgentOptions,
        turn: AnyTurn,
        prompt: list[dict[str, Any]],
        paused: Paused | None,
    ) -> ClaudeRun:
        """Return a run of a message, or one that continues another whose process has ended."""
        transcripts, granted = turn.before.state or {}, ""
        if paused:
            transcripts, prompt = paused.session, [{"type": "text", "text": paused.prompt()}]
            granted = called(paused.tool, paused.given) if paused.is_allowed else ""
        return ClaudeRun(
            options,
            Session(transcripts),
            prompt,
            self._places,
            granted=granted,
            asks=self._asks,
            expands=self._expands,
        )


def _read(paused: Paused, reply: AgentRequest) -> tuple[Paused, str]:
    """Return the run with the answers in a reply, or unchanged with the fault of the reply."""
    try:
        return answered(paused, reply.parts), ""
    except InvalidInputError as fault:
        return paused, str(fault)


adapt = ClaudeAgentAdapter
"""Wraps the options of an agent, with options of the server."""
