"""Converts the emitted events and the result of a workflow to the events of an answer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from a2a_adapters_functions.serving.results import Results, returned_events
from dbos import DBOS

from a2a_adapters import AgentEvent, TextDelta
from a2a_adapters.concurrency import until
from a2a_adapters.plugin import AnswerText
from a2a_adapters_dbos.workflow import STREAM, Emitted, silences

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence


async def written(workflow_id: str, offset: int, ended: asyncio.Future[Any]) -> AsyncGenerator[Any]:
    """Yield the values of a workflow's stream from an offset, until `ended` is done."""
    if silence := silences.get(workflow_id):
        await asyncio.wait({ended, silence.broken}, return_when=asyncio.FIRST_COMPLETED)
        if silences.pop(workflow_id, None):  # it has ended, and written nothing
            return
    while True:
        is_over = ended.done()  # all that it wrote is in the stream, and ends it
        values = DBOS.read_stream_async(workflow_id, STREAM, offset=offset)
        async with aclosing(values if is_over else until(ended, values)) as found:
            async for value in found:
                yield value
                offset += 1
        if is_over:
            return


class Answer:
    """The answer of a workflow to one message.

    Args:
        results: The declared type of the workflow's result.
        is_continued: Whether earlier answers of the task precede this one.
    """

    def __init__(self, results: Results, *, is_continued: bool) -> None:
        self._results = results
        self._is_continued = is_continued
        self._said: list[tuple[int | None, str, str]] = []

    def take(self, value: Emitted) -> AgentEvent:
        """Return the event to yield; a step's text replaces that of its earlier attempts."""
        if not isinstance(value.event, TextDelta):
            return value.event
        kept = (
            [each for each in self._said if each[0] != value.step or each[1] == value.attempt]
            if value.step is not None
            else self._said
        )
        is_repeated = len(kept) < len(self._said)
        self._said = [*kept, (value.step, value.attempt, value.event.text)]
        return AnswerText(self._text()) if is_repeated else value.event

    def end(self, result: object) -> Sequence[AgentEvent]:
        """Return the events of the workflow's result; a text is the whole answer."""
        if isinstance(result, str) and self._said:
            if result == self._text():
                return ()
            return (AnswerText(result, of_task=self._is_continued),)
        return returned_events(result, self._results)

    def _text(self) -> str:
        return "".join(text for _, _, text in self._said)
