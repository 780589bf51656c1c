"""Converts the events of a run to adapter events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import (
    Agent,
    AgentUpdatedStreamEvent,
    HandoffOutputItem,
    ItemHelpers,
    MessageOutputItem,
    RawResponsesStreamEvent,
    ReasoningItem,
    RunItemStreamEvent,
    ToolCallItem,
    ToolCallOutputItem,
)
from openai.types.responses import (
    ResponseCompletedEvent,
    ResponseOutputItemDoneEvent,
    ResponseTextDeltaEvent,
)

from a2a_adapters import AgentEvent, Output, TextDelta
from a2a_adapters.plugin import AnswerText, Speech
from a2a_adapters_openai_agents.calling.messages import asked_in
from a2a_adapters_openai_agents.calling.response import QuestionDelta
from a2a_adapters_openai_agents.serving.failures import TOOL_FAILED, has_failed
from a2a_adapters_openai_agents.serving.guards import sees_calls, sees_responses, sees_results
from a2a_adapters_openai_agents.serving.output import (
    answers_text,
    final_data,
    image_of,
    metadata_of,
)
from a2a_adapters_openai_agents.serving.progress import RunProgress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agents import RunItem, RunResultStreaming, StreamEvent, TResponseInputItem

    from a2a_adapters_openai_agents.calling.messages import Place


class RunEvents:
    """Converts the events of one run.

    All text of agents is the answer, streamed token by token. Exceptions: an agent with an output
    type answers with its final data only. An agent with output guardrails answers with its final
    message, which is all they check, and its images, once they have passed. The SDK reports a
    response before its hooks run: the text that they see waits until the run has continued or
    ended.

    Attributes:
        asked: The place of a remote agent whose question is the last message.

    Args:
        agent: The first agent of the run.
        guarded: Whether output guardrails apply to all agents.
        holds: Whether the text of agents without guardrails has to be accepted as well.
        wants_progress: Whether the client follows the progress.
        items: The conversation before the run.
    """

    def __init__(
        self,
        agent: Agent[Any],
        *,
        guarded: bool,
        holds: bool = False,
        wants_progress: bool = False,
        items: Iterable[TResponseInputItem] = (),
    ) -> None:
        self._all_guarded = guarded
        self._holds = holds
        self._progress = RunProgress(items) if wants_progress else None
        self._speech = _Messages()
        self._accepted: list[str] = []
        self._ends_with_message = False
        self._failures: list[str] = []
        self._name = ""
        self._unchecked: list[Output] = []
        self._drawn: set[str] = set()
        """The ids of the images so far."""
        self._unseen: list[RunItem] = []
        self._is_complete = False
        self.asked: Place | None = None
        self._turn_of(agent)

    def again(self, said: Iterable[str | Output]) -> Iterator[AgentEvent]:
        """Yield the texts and images from before the run was interrupted."""
        for each in said:
            if isinstance(each, Output):
                yield each
            elif self._is_text and not self._is_guarded:
                yield from self._text(each)

    def go_on(self, items: Iterable[RunItem]) -> None:
        """Take the images before a question that output guardrails have yet to check."""
        for item in items if self._is_guarded else ():
            if isinstance(item, HandoffOutputItem):
                self._unchecked.clear()
            elif isinstance(item, ToolCallItem):
                self._images(item.raw_item, item.agent.name)

    def take(self, event: StreamEvent) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of the SDK."""
        if self._goes_on(event):
            yield from self._seen()
        match event:
            case RawResponsesStreamEvent(data=data):
                self._is_complete = isinstance(data, ResponseCompletedEvent)
                if isinstance(data, ResponseTextDeltaEvent):
                    yield from self._chunk(data)
                elif isinstance(data, ResponseOutputItemDoneEvent) and not self._has_call_hooks:
                    yield from self._images(data.item, self._name)  # the SDK reports it later
            case RunItemStreamEvent(item=item) if self._waits(item):
                self._unseen.append(item)
            case RunItemStreamEvent(item=item):
                yield from self._item(item)
            case AgentUpdatedStreamEvent(new_agent=agent):
                if self._is_guarded and self._is_text:
                    yield from self._withdraw()
                self._turn_of(agent)

    def pause(self, result: RunResultStreaming) -> Iterator[AgentEvent]:
        """Yield the accepted text, and the metadata of a run that waits or has ended."""
        yield from self._seen()
        if self._is_text or self._accepted:
            yield self._answer()
        yield metadata_of(result.context_wrapper.usage, result.last_agent)

    def end(self, result: RunResultStreaming) -> Iterator[AgentEvent]:
        """Yield the rest of the answer and the run's metadata."""
        final, agent = result.final_output, result.last_agent
        if self._is_decided and self._progress:
            self._progress.withhold(self._unseen, final)
        yield from self._seen()
        if self._unchecked:
            yield self._answer()  # the text that was streamed follows the images
            yield from self._unchecked
        if not self._ends_with_message and str(final) in self._failures:
            final = TOOL_FAILED
        is_text = isinstance(final, str) and (self._is_text or not self._ends_with_message)
        if is_text and self.asked:
            final = _without_question(final, self.asked)
        if is_text and final != self._whole:  # checked, a tool's result, or an error handler's
            self._accepted.append(final)
        if not is_text and final is not None:
            yield final_data(final, agent, is_tools=not self._ends_with_message)
        yield from self.pause(result)

    def _turn_of(self, agent: Agent[Any]) -> None:
        if agent.name != self._name:  # the guardrails of an agent that hands over never run
            self._unchecked.clear()
        self._name = agent.name
        self._is_text = answers_text(agent)
        self._is_guarded = self._all_guarded or bool(agent.output_guardrails)
        self._has_hooks = sees_responses(agent)
        self._is_seen = self._is_guarded or self._has_hooks
        self._has_call_hooks = self._has_hooks or sees_calls(agent)
        behavior = agent.tool_use_behavior
        self._is_decided = callable(behavior)  # a function may answer with something else
        is_final = self._is_seen and behavior != "run_llm_again"
        self._has_result_hooks = sees_results(agent) or is_final or self._is_decided
        self._is_streamed = self._is_text and (self._holds or not self._is_seen)
        self._whole = ""

    def _chunk(self, piece: ResponseTextDeltaEvent) -> Iterator[AgentEvent]:
        if self._is_streamed and not isinstance(piece, QuestionDelta):
            message = piece.item_id, piece.output_index
            yield from _delta(self._speech.chunk(message, piece.delta))

    def _waits(self, item: RunItem) -> bool:
        """Whether something may still change an item, or end the run because of it."""
        if isinstance(item, ToolCallOutputItem):
            return self._has_result_hooks
        is_seen = self._has_call_hooks if isinstance(item, ToolCallItem) else self._has_hooks
        return is_seen and not isinstance(item, HandoffOutputItem)

    def _goes_on(self, event: StreamEvent) -> bool:
        """Whether an event shows that the hooks and guardrails have accepted the items so far."""
        match event:
            case RawResponsesStreamEvent():
                return self._is_complete  # the next response begins
            case RunItemStreamEvent(item=ToolCallOutputItem() as item):
                return not self._waits(item)
            case RunItemStreamEvent(item=item):
                return isinstance(item, HandoffOutputItem)
        return True

    def _seen(self) -> Iterator[AgentEvent]:
        items, self._unseen = self._unseen, []
        for item in items:
            yield from self._item(item)

    def _item(self, item: RunItem) -> Iterator[AgentEvent]:
        self._ends_with_message = isinstance(item, MessageOutputItem)
        if isinstance(item, MessageOutputItem):
            yield from self._message(item)
            return
        if isinstance(item, ToolCallItem):
            yield from self._images(item.raw_item, item.agent.name)
        if isinstance(item, ToolCallOutputItem) and has_failed(item):
            self._failures.append(str(item.output))
        # Guardrails check no thoughts, and hooks may drop them: they may contain what is blocked.
        if self._progress and not (self._is_seen and isinstance(item, ReasoningItem)):
            yield from self._progress.events(item)

    def _images(self, call: object, agent: str) -> list[Output]:
        """Return the image of a call, unless it was sent or guardrails have to check it first."""
        image, call_id = image_of(call, agent), getattr(call, "id", None)
        if image is None or call_id in self._drawn:
            return []
        if call_id:
            self._drawn.add(call_id)
        if self._is_guarded:
            self._unchecked.append(image)
        return [] if self._is_guarded else [image]

    def _message(self, item: MessageOutputItem) -> Iterator[AgentEvent]:
        if not self._is_text:
            return
        text = ItemHelpers.text_message_output(item)
        if asked := asked_in(item.raw_item):
            text = _without_question(text, asked)
        self.asked = asked
        if not self._is_guarded:
            self._whole = text
            yield from self._text(text)
        elif self._is_streamed:
            yield from _delta(self._speech.end(text))

    def _text(self, text: str) -> Iterator[AgentEvent]:
        """Accept a message."""
        self._accepted.append(text)
        yield from _delta(self._speech.end(text))
        if self._holds:
            yield self._answer()

    def _withdraw(self) -> Iterator[AgentEvent]:
        """Withdraw the text that no guardrail will check."""
        self._speech = _Messages()
        for text in self._accepted:
            self._speech.end(text)
        yield self._answer()

    def _answer(self) -> AnswerText:
        whole = Speech[int]()
        return AnswerText("".join(whole.end(0, text) for text in self._accepted))


class _Messages:
    """The text of a run's messages, which the SDK streams one after the other."""

    def __init__(self) -> None:
        self._speech = Speech[object]()
        self._open: list[object] = []

    def chunk(self, message: object, text: str) -> str:
        """Add a chunk of a message and return the text to send now."""
        before = ""
        if not self._open or self._open[-1] != message:
            before = self._speech.end(self._open[-1]) if self._open else ""
            self._open.append(message)
        return before + self._speech.add(message, text)

    def end(self, text: str) -> str:
        """End the first open message, given its whole text, and return the text to send now."""
        message = self._open.pop(0) if self._open else None
        return "" if self._open else self._speech.end(message, text)


def _without_question(text: str, asked: Place) -> str:
    return text.removesuffix(asked.question).rstrip()


def _delta(text: str) -> Iterator[TextDelta]:
    if text:
        yield TextDelta(text)
