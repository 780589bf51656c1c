"""From the events of a run to those of an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import (
    Agent,
    AgentUpdatedStreamEvent,
    ItemHelpers,
    MessageOutputItem,
    RawResponsesStreamEvent,
    RunItemStreamEvent,
    ToolCallItem,
    ToolCallOutputItem,
)
from openai.types.responses import ResponseTextDeltaEvent

from a2a_adapters import AgentEvent, Output, TaskMetadata, TextDelta
from a2a_adapters_openai_agents.serving.output import (
    about,
    final_data,
    image_of,
    speaks_text,
)
from a2a_adapters_openai_agents.serving.progress import News
from a2a_adapters_openai_agents.serving.speech import MessageName, Speech
from a2a_adapters_openai_agents.serving.tools import TOOL_FAILED, has_failed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agents import RunItem, RunResultStreaming, StreamEvent, TResponseInputItem


class Telling:
    """Tells one run.

    Everything that agents say is the answer, token by token. Of an agent with an output type it is
    only the data it ends with. Of one with output guardrails it is the final message, which is all
    they see, and the images beside it, when they have passed.

    Args:
        agent: Where the run begins.
        guarded: Whether output guardrails guard all agents.
        wants_progress: Whether anybody follows the run.
        items: The conversation before the run.
    """

    def __init__(
        self,
        agent: Agent[Any],
        *,
        guarded: bool,
        wants_progress: bool,
        items: Iterable[TResponseInputItem] = (),
    ) -> None:
        self._all_guarded = guarded
        self._news = News(items) if wants_progress else None
        self._speech = Speech()
        self._whole = ""
        self._ends_with_message = False
        self._failures: list[str] = []
        self._turn_of(agent)

    def again(self, texts: Iterable[str]) -> Iterator[AgentEvent]:
        """Yield what was said before the run was cut off."""
        for text in texts:
            if self._is_said:
                yield from _delta(self._speech.message(text))

    def take(self, event: StreamEvent) -> Iterator[AgentEvent]:
        """Yield what an event tells."""
        match event:
            case RawResponsesStreamEvent(data=ResponseTextDeltaEvent() as piece):
                if self._is_said:
                    name = MessageName(piece.item_id, piece.output_index)
                    yield from _delta(self._speech.chunk(name, piece.delta))
            case RunItemStreamEvent(item=item):
                yield from self._item(item)
            case AgentUpdatedStreamEvent(new_agent=agent):
                self._turn_of(agent)

    def pause(self, result: RunResultStreaming) -> TaskMetadata:
        """Return what is known of a run that waits now."""
        return about(result.context_wrapper.usage, result.last_agent)

    def end(self, result: RunResultStreaming) -> Iterator[AgentEvent]:
        """Yield the rest of the answer of a run that has ended, and what is known of it."""
        final, agent = result.final_output, result.last_agent
        yield from self._unchecked
        if not self._ends_with_message and str(final) in self._failures:
            final = TOOL_FAILED
        is_text = isinstance(final, str) and (self._is_text or not self._ends_with_message)
        if is_text and final != self._whole:  # checked, a tool's result, or an error handler's
            yield from _delta(self._speech.message(final))
        if not is_text and final is not None:
            yield final_data(final, agent, is_tools=not self._ends_with_message)
        yield self.pause(result)

    def _turn_of(self, agent: Agent[Any]) -> None:
        self._is_text = speaks_text(agent)
        self._is_guarded = self._all_guarded or bool(agent.output_guardrails)
        self._is_said = self._is_text and not self._is_guarded
        self._unchecked: list[Output] = []  # those of who handed over will never be checked

    def _item(self, item: RunItem) -> Iterator[AgentEvent]:
        self._ends_with_message = isinstance(item, MessageOutputItem)
        if isinstance(item, MessageOutputItem):
            if self._is_said:
                self._whole = ItemHelpers.text_message_output(item)
                yield from _delta(self._speech.message(self._whole))
            return
        if isinstance(item, ToolCallItem) and (image := image_of(item)):
            if self._is_guarded:
                self._unchecked.append(image)
            else:
                yield image
        if isinstance(item, ToolCallOutputItem) and has_failed(item):
            self._failures.append(str(item.output))
        if self._news and (news := self._news.of(item)):
            yield news


def _delta(text: str) -> Iterator[TextDelta]:
    if text:
        yield TextDelta(text)
