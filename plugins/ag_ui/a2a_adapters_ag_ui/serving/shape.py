"""The course of a run: its first and last events, and the changes between them."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from a2a_adapters_openai.output import finish, rest_of
from ag_ui.core import (
    PROTOCOL_VERSION,
    MessagesSnapshotEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TokenUsage,
)

from a2a_adapters import RemoteArtifact, TextDelta
from a2a_adapters.dialects import artifact_text, is_corrected
from a2a_adapters_ag_ui.serving.events import RunEvents, custom, encoded
from a2a_adapters_ag_ui.serving.questions import interrupt, tool_use
from a2a_adapters_ag_ui.serving.turn import is_followed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters_openai.errors import ApiError
    from ag_ui.core import RunFinishedOutcome

    from a2a_adapters import AgentReply
    from a2a_adapters import TokenUsage as Usage
    from a2a_adapters.plugin import ProgressEvent
    from a2a_adapters_ag_ui.serving.input import Asked
    from a2a_adapters_ag_ui.serving.turn import AgentRun, RunEvent, Turn


class RunShape:
    """Builds the events of a run.

    Args:
        asked: The input.
        run: The run.
        turn: The turn that the run belongs to.
    """

    def __init__(self, asked: Asked, run: AgentRun, turn: Turn) -> None:
        self._asked = asked
        self._run = run
        self._turn = turn
        self._events = RunEvents(asked.key)
        self._names_task = True
        self._withdrawn: Sequence[str] = ()

    def begin(self) -> bytes:
        """Return the first events; a client that reconnects drops its part of the answer."""
        events = started(self._asked)
        if self._turn.is_known:
            events += encoded(MessagesSnapshotEvent(messages=self._asked.earlier()))
        return events + self._task()

    def add(self, news: Sequence[RunEvent]) -> bytes:
        """Return the events for changes."""
        say, other = self._events.text, self._other
        events = [say(each.text) if isinstance(each, TextDelta) else other(each) for each in news]
        return self._task() + b"".join(events)

    async def end(self) -> bytes:
        """Return the last events.

        Raises:
            ApiError: The task failed.
        """
        await self._turn.note(self._run)
        self._withdrawn = await self._turn.withdrawn(self._run)
        news, reply = finish(self._run.answer)
        asking = await self._turn.question(self._run) if reply.is_question else None
        use = tool_use(asking) if asking is not None else None
        if use is not None and use.name in self._asked.tools:
            pending = [use.id] if self._asked.is_current else None
            outcome = RunFinishedSuccessOutcome(pending_tool_call_ids=pending)
            events = self._corrected(artifact_text(reply.artifacts)) + self._events.finish()
            return events + self._events.call(use) + self._finish(outcome, reply)
        events = self.add(news) + self._corrected(reply.text) + self._rest(reply)
        events += self._events.finish()
        if asking is None:
            return events + self._finish(RunFinishedSuccessOutcome(), reply)
        asked = RunFinishedInterruptOutcome(interrupts=[interrupt(asking, reply)])
        return events + self._snapshot() + self._finish(asked, reply)

    def fail(self, error: ApiError) -> bytes:
        """Return the last events of a run that failed or was cancelled."""
        events = self._corrected(artifact_text(self._run.answer.finish()[1].artifacts))
        if error.code == "cancelled" and self._asked.is_current:
            outcome = RunFinishedCancelledOutcome()
            return events + self._events.finish() + finished(self._asked, outcome)
        return events + failed(error)

    def _corrected(self, text: str) -> bytes:
        """Return the messages as they are now, if some of their text was withdrawn."""
        if is_corrected(self._events.said, text):
            return self._events.correct(text) + self._snapshot()
        return self._events.close() + self._snapshot() if self._withdrawn else b""

    def _other(self, event: ProgressEvent | RemoteArtifact) -> bytes:
        if isinstance(event, RemoteArtifact):
            return self._events.artifact(event)
        return self._events.progress(event)

    def _task(self) -> bytes:
        """Return the event that names the task of A2A, once it is known."""
        answer = self._run.answer
        if not self._names_task or not answer.task_id:
            return b""
        self._names_task = False
        return custom("a2a:task", {"taskId": answer.task_id, "contextId": answer.context_id})

    def _rest(self, reply: AgentReply) -> bytes:
        """Return the events of the answer that were not sent yet."""
        events = b""
        followed = [each for each in reply.artifacts if is_followed(each)]
        for artifact in followed:
            if artifact.id not in self._events.artifacts:
                events += self._events.artifact(artifact)
        rest = rest_of(_without_followed(reply), has_text=bool(reply.text))
        return events + (self._events.text(rest) if rest else b"")

    def _snapshot(self) -> bytes:
        """Return the messages: as corrected, or as a client needs them to answer a question."""
        earlier = self._asked.earlier(self._withdrawn)
        return encoded(MessagesSnapshotEvent(messages=[*earlier, *self._events.messages]))

    def _finish(self, outcome: RunFinishedOutcome, reply: AgentReply) -> bytes:
        data = [] if reply.is_question else _without_followed(reply).data
        result = data[0] if len(data) == 1 else data or None
        return finished(self._asked, outcome, result, reply.usage)


def _without_followed(reply: AgentReply) -> AgentReply:
    """Return an answer without the shared state and interfaces, which have events of their own."""
    sent = [part for each in reply.artifacts if is_followed(each) for part in each.parts]
    return replace(reply, parts=[part for part in reply.parts if part not in sent])


def started(asked: Asked) -> bytes:
    """Return the event that begins a run."""
    given = asked.input
    return encoded(
        RunStartedEvent(
            thread_id=given.thread_id,
            run_id=given.run_id,
            parent_run_id=given.parent_run_id,
            protocol_version=PROTOCOL_VERSION,
        )
    )


def finished(
    asked: Asked, outcome: RunFinishedOutcome, result: object = None, usage: Usage | None = None
) -> bytes:
    """Return the event that ends a run, with the data and the usage of its answer."""
    return encoded(
        RunFinishedEvent(
            thread_id=asked.input.thread_id,
            run_id=asked.input.run_id,
            outcome=outcome,
            result=result,
            usage=[TokenUsage(**asdict(usage))] if usage is not None else None,
        )
    )


def failed(error: ApiError) -> bytes:
    """Return the event that ends a run with an error."""
    return encoded(RunErrorEvent(message=error.message, code=error.code or "refused"))
