"""Converts the events of a run to adapter events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_adapters import AgentEvent, Progress, TaskMetadata, TokenUsage
from a2a_adapters_strands.serving.results import data_of, files_of, message_of
from a2a_adapters_strands.serving.spoken import Spoken
from a2a_adapters_strands.serving.tools import ToolReports

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from strands import Agent
    from strands.agent import AgentResult


class RunEvents:
    """Converts the events of one run.

    The text of every model response is the answer, token by token. An agent with a structured
    output also answers with that as data. Events that may still be changed are not reported as
    progress.

    Attributes:
        result: The result of the run, once it has ended.

    Args:
        agent: The agent.
        wants_progress: Whether the client follows the progress.
        known: The names of tools whose calls an earlier run reported, by the id of the call.
        is_held: Whether the server holds text back until it is accepted.
    """

    result: AgentResult

    def __init__(
        self,
        agent: Agent,
        *,
        wants_progress: bool,
        known: Mapping[str, str],
        is_held: bool,
    ) -> None:
        self._agent = agent
        self._wants_progress = wants_progress
        self._spoken = Spoken(agent, is_held=is_held)
        self._tools = ToolReports(known, lambda: self._spoken.guards)
        self._thought = ""
        self._has_responded = False

    def take(self, event: Mapping[str, Any]) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of the framework."""
        match event:
            case {"data": str()}:
                yield from self._end_of_thought()
                yield from self._spoken.take("", event)
            case {"reasoningText": str(text)}:
                self._thought += text
            case {"event": {"messageStart": _}}:  # the response before was not accepted
                self._thought = ""
                yield from self._spoken.take("", event)
            case {"init_event_loop": True}:
                yield from self._spoken.take("", event)
            case {"message": {"role": "assistant", "content": content} as message}:
                yield from self._end_of_thought(content if "tracking_id" in message else ())
                yield from self._spoken.take("", event)
                yield from self._responded(message)
            case {"message": {"role": "user", "content": content}} if self._wants_progress:
                yield from self._tools.returned(content)
            case {"result": result}:
                self.result = result
                yield from self._spoken.take("", event)

    def fail(self) -> Iterator[AgentEvent]:
        """Yield the results of the tools that were running when an error ended the run."""
        if self._wants_progress:
            yield from self._tools.failed()

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer of a run that waits or has ended."""
        yield from self._spoken.end()
        # The message before an interrupt may be of an earlier turn.
        if self._spoken.guards.runs and (self._has_responded or not self.result.interrupts):
            yield from files_of(message_of(self.result))
        yield from data_of(self.result)

    def usage(self) -> Iterator[AgentEvent]:
        """Yield the tokens of the run."""
        invocation = self.result.metrics.latest_agent_invocation
        if invocation and (usage := invocation.usage)["totalTokens"]:
            tokens = TokenUsage(usage["inputTokens"], usage["outputTokens"], usage["totalTokens"])
            yield TaskMetadata(tokens.as_metadata())

    def _responded(self, message: Mapping[str, Any]) -> Iterator[AgentEvent]:
        """Yield the files and the tool calls of a model response."""
        self._has_responded = True
        if not self._spoken.guards.runs:  # otherwise only the message of the result is checked
            yield from files_of(message)
        if self._wants_progress:
            yield from self._tools.called(self._agent, message["content"])

    def _end_of_thought(self, accepted: Sequence[Mapping[str, Any]] = ()) -> Iterator[AgentEvent]:
        """Yield the reasoning so far; if it may be changed, only that of an accepted message."""
        thought = self._thought
        if guards := self._spoken.guards:
            found = (block["reasoningContent"] for block in accepted if "reasoningContent" in block)
            texts = (each.get("reasoningText", {}).get("text", "") for each in found)
            thought = "" if guards.runs else "".join(texts)
        self._thought = ""
        if thought and self._wants_progress:
            yield Progress(thought, {"kind": "thought"})
