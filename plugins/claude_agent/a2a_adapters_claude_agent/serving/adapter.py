"""An agent of the Claude Agent SDK as an adapter."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters import AgentEvent, AgentRequest, InputRequired, InvalidInputError, Rejected
from a2a_adapters.conversing import StoredTurns
from a2a_adapters.plugin import Adapter, AgentDescription, Factory, check_arguments
from a2a_adapters_claude_agent.serving import options as options_of
from a2a_adapters_claude_agent.serving.card import describe_agent
from a2a_adapters_claude_agent.serving.events import RunEvents
from a2a_adapters_claude_agent.serving.failures import check
from a2a_adapters_claude_agent.serving.input import as_prompt
from a2a_adapters_claude_agent.serving.memory import KIND, AnyTurn
from a2a_adapters_claude_agent.serving.questions import Paused, answered, called, question
from a2a_adapters_claude_agent.serving.run import Asked, Places, Run
from a2a_adapters_claude_agent.serving.session import Session

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions

    from a2a_adapters import Limits, OutboundPolicy
    from a2a_adapters.plugin import StateStorage

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]

_CHECKING = "Stop"
"""The hook that may refuse a finished answer."""


class ClaudeAgentAdapter(Adapter):
    """Serves an agent of the Claude Agent SDK.

    Each run has a process of Claude Code. The session of a conversation is kept in the server's
    storage and continued by the next run; a failed or cancelled run leaves it unchanged.

    Tools that Claude Code asks about are questions to the caller: after a restart of the server,
    too. Paths outside the working folders are refused without asking. Hooks run as they are; one
    that raises `BlockedError` rejects the task. With a `Stop` hook, the answer is held back until
    it has accepted it.

    Of the server's environment, Claude Code gets the variables of its own (`ANTHROPIC_*`,
    `CLAUDE_*`, `DISABLE_*`) and those that every program needs, such as `PATH`. Others are empty;
    `ClaudeAgentOptions.env` adds to them.

    Args:
        options: The options of the agent, or a `Factory` that makes them for every run.
        options_for: Makes the options for a request, by default `options`; may be async.
        ask: Whether callers are asked about tools; if not, what is not allowed is refused.
        expand_prompts: Whether commands (`/compact`) and mentions of files (`@path`) in messages
            are carried out. Only for callers who may read all files of the server.
        processes: The maximum number of processes. One that waits for its caller ends if another
            run needs its place.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: It is no `ClaudeAgentOptions`, or an option would mix the callers' sessions.
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
        check_arguments(ClaudeAgentAdapter, locals(), {"processes"})
        made = options.example if isinstance(options, Factory) else options
        self.fetch = fetch
        self._example = options_of.check(made)
        self._make = options_for or (lambda _: options() if isinstance(options, Factory) else made)
        self._asks = ask
        self._expands = expand_prompts
        self._places = Places(processes)
        self._turns = StoredTurns(KIND, limits)
        self.holds_text = _CHECKING in (self._example.hooks or {})

    def describe(self) -> AgentDescription:
        """Describe the agent by its subagents."""
        return describe_agent(self._example)

    async def open(self, storage: StateStorage) -> None:
        """Keep sessions, and questions, in the server's storage."""
        self._turns.open(storage)

    def stream(self, request: AgentRequest) -> _Events:
        """Run the agent, or continue after its question.

        Raises:
            InvalidInputError: The message is empty, or has a file that models do not support.
        """
        return self._answer(request, [] if request.resuming else as_prompt(request))

    async def abandon(self, request: AgentRequest) -> None:
        """Restore the session from before the task of the question."""
        await self._turns.abandon(request)

    async def _answer(self, request: AgentRequest, prompt: list[dict[str, Any]]) -> _Events:
        turn = await self._turns.begin(request)
        if isinstance(turn, Rejected | InputRequired):
            yield turn
            return
        made = self._make(request)
        options = options_of.check(await made if inspect.isawaitable(made) else made)
        folder = str(options_of.folders(options)[0])
        paused = turn.before.paused
        while True:
            run = self._run(options, turn, prompt, paused)
            paused = None
            streams = self.holds_text or _CHECKING not in (options.hooks or {})
            events = RunEvents(
                options, folder, wants_progress=request.wants_progress, streams=streams
            )
            async with aclosing(run.news()) as news:
                async for each in news:
                    if not isinstance(each, Asked):
                        for event in events.take(each):
                            yield event
                        continue
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

    def _run(
        self,
        options: ClaudeAgentOptions,
        turn: AnyTurn,
        prompt: list[dict[str, Any]],
        paused: Paused | None,
    ) -> Run:
        """Return a run of a message, or one that continues another whose process has ended."""
        transcripts, granted = turn.before.state or {}, ""
        if paused:
            transcripts, prompt = paused.session, [{"type": "text", "text": paused.prompt()}]
            granted = called(paused.tool, paused.given) if paused.is_allowed else ""
        return Run(
            options,
            Session(transcripts),
            prompt,
            self._places,
            granted=granted,
            asks=self._asks,
            expands=self._expands,
        )


def _read(paused: Paused, reply: AgentRequest) -> tuple[Paused, str]:
    """Return the run with the answers in a reply, or as it is with the fault of the reply."""
    try:
        return answered(paused, reply.parts), ""
    except InvalidInputError as fault:
        return paused, str(fault)


adapt = ClaudeAgentAdapter
"""Wraps the options of an agent, with options of the server."""
