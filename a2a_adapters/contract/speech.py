"""The streamed text of an agent's messages, joined to the text of one answer."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from a2a_adapters.contract.reasoning import ReasoningFilter

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Speech", "TextFilter"]

_BLANK_LINE = "\n\n"

Speaker = TypeVar("Speaker", bound=Hashable)


class TextFilter(Protocol):
    """Leaves something out of one message that comes in chunks; `ReasoningFilter` is one."""

    def add(self, chunk: str) -> str:
        """Take a chunk and return what of the text so far is sure to be sent."""
        ...

    def rest(self) -> str:
        """Return what was held back, at the end of the message."""
        ...


class Speech(Generic[Speaker]):
    """Joins the messages of one run, and returns their text as it can be sent.

    A blank line sets messages apart. Of speakers that talk at the same time one has the floor until
    its message ends; the others are held back until then, so that their words are not mixed.
    White space alone is no message.

    Args:
        labelled: Whether each message begins with its speaker.
        new_filter: Makes the filter for each message; by default reasoning is left out.
    """

    def __init__(
        self, *, labelled: bool = False, new_filter: Callable[[], TextFilter] = ReasoningFilter
    ) -> None:
        self._said: list[str] = []
        self._between = ""
        self._labelled = labelled
        self._new_filter = new_filter
        self._filter = new_filter()
        self._floor: Speaker | None = None
        self._current: list[str] = []
        self._waiting: dict[Speaker, list[str]] = {}
        self._late: list[tuple[Speaker, str]] = []

    def __bool__(self) -> bool:
        """Whether a message has ended."""
        return bool(self._said)

    def add(self, speaker: Speaker, chunk: str) -> str:
        """Take a piece of a speaker's message and return the text to send now."""
        if not chunk:
            return ""
        if speaker != self._floor:
            if self._floor is not None:
                self._waiting.setdefault(speaker, []).append(chunk)
                return ""
            self._floor = speaker
        return self._say(speaker, self._filter.add(chunk))

    def end(self, speaker: Speaker, text: str | None = None) -> str:
        """End a speaker's message and return the text to send now.

        Args:
            speaker: Whose message it is; nothing of it need have been added.
            text: The whole message, if it is known. If that is not what was added, it is sent as a
                message of its own.
        """
        if self._floor is not None and speaker != self._floor:
            pieces = self._waiting.pop(speaker, ())
            self._late.append((speaker, "".join(pieces) if text is None else text))
            return ""
        return self._rest_of_message(speaker, text) + self._yield_floor()

    def rest(self) -> str:
        """End all messages and return the text to send, at the end of the run."""
        text = ""
        while self._floor is not None:
            text += self.end(self._floor)
        return text

    def begin_anew(self) -> None:
        """Begin another text: no blank line precedes the next message."""
        self._between = ""

    def is_speaking(self, speaker: Speaker) -> bool:
        """Whether part of this speaker's message was sent, and its end is awaited."""
        return self._floor == speaker and bool(self._current)

    def has_said(self, text: str) -> bool:
        """Whether a message with this text was sent."""
        return self._filtered(text).strip() in self._said

    def _filtered(self, text: str) -> str:
        message = self._new_filter()
        return message.add(text) + message.rest()

    def _say(self, speaker: Speaker, text: str) -> str:
        if self._current:
            if text:
                self._current.append(text)
            return text
        if not text or text.isspace():
            return ""
        self._current.append(text)
        before, self._between = self._between, _BLANK_LINE
        return f"{before}{speaker}: {text}" if self._labelled else before + text

    def _rest_of_message(self, speaker: Speaker, text: str | None) -> str:
        if text is None:
            return self._say(speaker, self._filter.rest())
        text, said = self._filtered(text), "".join(self._current)
        if text.startswith(said):
            return self._say(speaker, text[len(said) :])
        if said.rstrip().endswith(text.strip()):
            return ""
        self._close()
        return self._say(speaker, text)

    def _yield_floor(self) -> str:
        """End the current message and return the text that waited for its end."""
        self._close()
        late, self._late = self._late, []
        text = ""
        for speaker, message in late:
            text += self._say(speaker, self._filtered(message))
            self._close()
        for speaker in self._waiting:
            self._floor = speaker
            return text + self._say(speaker, self._filter.add("".join(self._waiting.pop(speaker))))
        return text

    def _close(self) -> None:
        if self._current:
            self._said.append("".join(self._current).strip())
        self._floor, self._current, self._filter = None, [], self._new_filter()
