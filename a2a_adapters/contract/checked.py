"""The text of a run as events, corrected where the framework changes streamed text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from a2a_adapters.contract.events import AnswerText, TextDelta
from a2a_adapters.contract.text import Speaker, Speech

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CheckedSpeech"]


class CheckedSpeech(Generic[Speaker]):
    """Joins the messages of one run, as `Speech` does, and corrects those that the run changes.

    Args:
        holds: Whether a message may be changed before it is accepted. Each accepted message is then
            an `AnswerText`, which releases the text that the server holds back.
        until_end: Whether messages may be changed until `end`, which then accepts all of them.
        streams: Whether text is yielded before it is accepted. Set it to false if the server does
            not hold the text back although it may be changed.
    """

    def __init__(
        self, *, holds: bool = False, until_end: bool = False, streams: bool = True
    ) -> None:
        self._speech = Speech[Speaker]()
        self._holds = holds or until_end or not streams
        self._until_end = until_end
        self._streams = streams
        self._accepted = ""

    def hold(self, *, until_end: bool) -> None:
        """Yield only accepted text from now on: something may change it that was not known."""
        self._holds, self._streams = True, False
        self._until_end = self._until_end or until_end

    def __bool__(self) -> bool:
        """Whether a message has been completed."""
        return bool(self._speech)

    def add(self, speaker: Speaker, chunk: str) -> Iterator[TextDelta]:
        """Add a chunk of a speaker's message, and yield the text that can be streamed."""
        if (text := self._speech.add(speaker, chunk)) and self._streams:
            yield TextDelta(text)

    def accept(self, speaker: Speaker, text: str) -> Iterator[TextDelta | AnswerText]:
        """End a speaker's message with the text that the framework accepted; "" withdraws it."""
        new = self._speech.settle(speaker, text)
        if self._until_end:
            yield from self._delta(new or "")
        elif new is None or (self._holds and self._speech.completed != self._accepted):
            yield from self._whole()
        else:
            yield from self._delta(new)

    def correct(self, speaker: Speaker, text: str) -> Iterator[TextDelta | AnswerText]:
        """Replace the last message of a speaker."""
        self._speech.take_back(speaker, only_last=True)
        self._speech.settle(speaker, text)
        if not self._until_end:
            yield from self._whole()

    def withdraw(self, speaker: Speaker) -> Iterator[TextDelta | AnswerText]:
        """Withdraw all messages of a speaker who starts over."""
        if self._speech.take_back(speaker) and not self._until_end:
            yield from self._whole()

    def end(self) -> Iterator[TextDelta | AnswerText]:
        """Yield the rest of the text at the end of the run; accept none that may still change."""
        if self._holds:
            yield AnswerText(self._speech.completed)
        else:
            yield from self._delta(self._speech.rest())

    def _whole(self) -> Iterator[TextDelta | AnswerText]:
        self._accepted = self._speech.completed
        yield AnswerText(self._accepted)
        yield from self._delta(self._speech.begun)

    def _delta(self, text: str) -> Iterator[TextDelta]:
        if text and self._streams:
            yield TextDelta(text)
