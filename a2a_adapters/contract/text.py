"""Text for frameworks and models: rendering of parts, removal of reasoning, joining of messages."""

from __future__ import annotations

import re
from collections.abc import Hashable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from pydantic_core import from_json, to_json, to_jsonable_python

from a2a_adapters.contract.parts import JSON, Data, File, Part, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_CLIPPED_LENGTH = 200
_QUOTE_LENGTH = 500

_YES = re.compile(
    r"accept(ed)?|approved?|confirm|continue|go|lgtm|ok(ay)?|true|y(es)?", re.IGNORECASE
)
_NO = re.compile(r"cancel|declined?|deny|denied|false|no?|reject(ed)?|stop")


def as_decision(text: str) -> tuple[bool, str] | None:
    """Return whether a reply means yes or no, with the reason of a no, or None if it is unclear.

    A yes followed by anything else ("yes, but ...") is unclear.
    """
    word, *rest = re.sub(r"^\W+", "", text).split(maxsplit=1) or [""]
    word = re.sub(r"\W+$", "", word).lower()
    reason = re.sub(r"^(\W|because\b|reason\b)+", "", "".join(rest).strip())
    if _YES.fullmatch(word) and not reason:
        return True, ""
    return (False, reason) if _NO.fullmatch(word) else None


def as_text(parts: Iterable[Part]) -> str:
    """Render parts as text, one per line: data as JSON, files as their names.

    Raises:
        ValueError: A data part cannot be serialised as JSON.
    """
    return "\n".join(map(_text, parts))


def _text(part: Part) -> str:
    match part:
        case Data(value=value):
            return to_json(value, fallback=from_array).decode()
        case File():
            name = part.filename or part.url or part.media_type or "without a name"
            return f"(A file: {name})"
        case _:
            return part.text


def from_array(value: Any) -> Any:
    """Convert an array or a number of numpy or torch; the fallback of pydantic's serializers.

    Raises:
        ValueError: It is something else.
    """
    if not hasattr(value, "tolist"):
        raise ValueError(f"{type(value)} cannot be serialized as JSON")
    return value.tolist()


def as_json(value: object) -> JSON:
    """Convert any value into JSON, replacing what JSON cannot express."""
    return cast("JSON", to_jsonable_python(value, serialize_unknown=True, inf_nan_mode="null"))


def tool_arguments(given: object) -> JSON:
    """Parse a tool call's arguments; text that is not valid JSON is returned unchanged."""
    if not isinstance(given, str):
        return as_json(given)
    try:
        return cast("JSON", from_json(given)) if given else None
    except ValueError:
        return given


_BEGIN, _END = "<think>", "</think>"


class _At(Enum):
    BEGINNING = auto()
    REASONING = auto()
    GAP = auto()
    ANSWER = auto()


class ReasoningFilter:
    """Removes the reasoning (`<think>...</think>`) from one message that arrives in chunks.

    Reasoning is recognised only at the start of a message, after optional white space; later tags
    are text. If it is never closed, the message has no answer.
    """

    __slots__ = ("_at", "_held")

    def __init__(self) -> None:
        self._at = _At.BEGINNING
        self._held = ""

    def add(self, chunk: str) -> str:
        """Add a chunk and return the text that is known to belong to the answer."""
        if self._at is _At.ANSWER:
            return chunk
        self._held += chunk
        if self._at is _At.BEGINNING:
            self._look_for_begin()
        if self._at is _At.REASONING:
            self._look_for_end()
        if self._at is _At.GAP:
            self._held = self._held.lstrip()
            self._at = _At.ANSWER if self._held else _At.GAP
        return self.rest() if self._at is _At.ANSWER else ""

    def rest(self) -> str:
        """End the message and return the text that was held back."""
        held, self._held = self._held, ""
        return "" if self._at is _At.REASONING else held

    def _look_for_begin(self) -> None:
        start = self._held.lstrip()
        if start.startswith(_BEGIN):
            self._held = start.removeprefix(_BEGIN)
            self._at = _At.REASONING
        elif not _BEGIN.startswith(start):
            self._at = _At.ANSWER

    def _look_for_end(self) -> None:
        _, mark, after = self._held.partition(_END)
        if mark:
            self._held = after
            self._at = _At.GAP
        else:  # reasoning may be long: keep only what may be the start of the closing tag
            self._held = self._held[-len(_END) :]


def without_reasoning(text: str) -> str:
    """Return the text of a complete message without its leading reasoning."""
    reasoning = ReasoningFilter()
    return reasoning.add(text) + reasoning.rest()


BLANK_LINE = "\n\n"
"""Separates the messages of a text."""


class _Artifact(Protocol):
    @property
    def parts(self) -> Iterable[Part]: ...


def artifact_text(artifacts: Iterable[_Artifact]) -> str:
    """Return the text of artifacts, each on its own line.

    For `AgentReply.artifacts`, this is the answer without the question or the reason for a failure.
    """
    texts = (
        "".join(part.text for part in each.parts if isinstance(part, Text)) for each in artifacts
    )
    return "\n".join(filter(None, texts))


def is_corrected(said: str, text: str) -> bool:
    """Return whether some text of a stream was withdrawn, or replaced by other text.

    Args:
        said: The text of the stream; it may have the answer's texts in another order.
        text: The text of the answer.
    """
    return _size(said) > _size(text)


def correction(said: str, text: str) -> str:
    """Return the text that ends a stream whose reader cannot take back text.

    Returns:
        The text of the answer as a new paragraph; "" if the stream ends with it anyway, or if none
        of its text was withdrawn.
    """
    if not text or said.endswith(text) or not is_corrected(said, text):
        return ""
    return BLANK_LINE + text


def _size(text: str) -> int:
    """Return the length without line ends, with which streams separate texts."""
    return len(text) - text.count("\n")


Speaker = TypeVar("Speaker", bound=Hashable)


class TextFilter(Protocol):
    """Filters one message that arrives in chunks, as `ReasoningFilter` does."""

    def add(self, chunk: str) -> str:
        """Add a chunk and return the text that can be sent."""
        ...

    def rest(self) -> str:
        """End the message and return the text that was held back."""
        ...


class Speech(Generic[Speaker]):
    """Joins the messages of one run into one text that can be streamed.

    Messages are separated by a blank line; those of white space only are dropped. When several
    speakers talk at once, one has the floor until its message ends and the others are buffered.

    Args:
        labelled: Whether each message is prefixed with its speaker.
        new_filter: Creates the filter of each message; by default it removes reasoning.
    """

    def __init__(
        self, *, labelled: bool = False, new_filter: Callable[[], TextFilter] = ReasoningFilter
    ) -> None:
        self._said: list[tuple[Speaker | None, str]] = []
        self._first = 0
        self._between = ""
        self._labelled = labelled
        self._new_filter = new_filter
        self._filter = new_filter()
        self._floor: Speaker | None = None
        self._speaker: Speaker | None = None
        self._current: list[str] = []
        self._waiting: dict[Speaker, list[str]] = {}
        self._late: list[tuple[Speaker | None, str]] = []

    def __bool__(self) -> bool:
        """Whether a message has been completed."""
        return bool(self._said)

    def add(self, speaker: Speaker, chunk: str) -> str:
        """Add a chunk of a speaker's message and return the text to send now."""
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
            speaker: The speaker, even if no part of the message was added.
            text: The complete message, if known. If it differs from the added chunks, it is sent as
                another message.
        """
        if self._floor is not None and speaker != self._floor:
            pieces = self._waiting.pop(speaker, ())
            self._late.append((speaker, "".join(pieces) if text is None else text))
            return ""
        return self._rest_of_message(speaker, text) + self._yield_floor()

    def settle(self, speaker: Speaker, text: str) -> str | None:
        """End a speaker's message with exactly `text`, whatever was added; "" withdraws it.

        Returns:
            The text to send now, or None if text that was sent has changed: all text is then
            `completed`, followed by `begun`.
        """
        if self._floor is not None and speaker != self._floor:
            self._waiting.pop(speaker, None)
            self._late.append((speaker, text))
            return ""
        text, said = self._filtered(text), "".join(self._current)
        if text.startswith(said):
            return self._say(speaker, text[len(said) :]) + self._yield_floor()
        self._current = []
        self._between = BLANK_LINE if self.completed else ""
        self._say(speaker, text)
        self._yield_floor()
        return None

    def take_back(self, speaker: Speaker, *, only_last: bool = False) -> bool:
        """Remove a speaker's messages, or the last one; return whether sent text has changed."""
        is_changed = not only_last and self.settle(speaker, "") is None
        found = [
            (messages, place)
            for messages, first in ((self._late, 0), (self._said, self._first))
            for place in range(len(messages) - 1, first - 1, -1)
            if messages[place][0] == speaker
        ]
        for messages, place in found[:1] if only_last else found:
            del messages[place]
            is_changed |= messages is self._said
        if not self._current:
            self._between = BLANK_LINE if self.completed else ""
        return is_changed

    @property
    def completed(self) -> str:
        """The text of the completed messages, as it was sent."""
        return BLANK_LINE.join(self._shown(*each) for each in self._said[self._first :])

    @property
    def begun(self) -> str:
        """The sent part of the current speaker's message, with the blank line before it."""
        if not self._current:
            return ""
        before = BLANK_LINE if self.completed else ""
        return before + self._shown(self._speaker, "".join(self._current))

    def rest(self) -> str:
        """End all messages and return the remaining text, at the end of the run."""
        text = ""
        while self._floor is not None:
            text += self.end(self._floor)
        return text

    def begin_anew(self) -> None:
        """Start another text, so that no blank line precedes the next message."""
        self._between = ""
        self._first = len(self._said)

    def is_speaking(self, speaker: Speaker) -> bool:
        """Return whether this speaker's message has been sent in part."""
        return self._floor == speaker and bool(self._current)

    def has_said(self, text: str) -> bool:
        """Return whether a message with this text has been sent."""
        text = self._filtered(text).strip()
        return any(said.strip() == text for _, said in self._said)

    def _filtered(self, text: str) -> str:
        message = self._new_filter()
        return message.add(text) + message.rest()

    def _say(self, speaker: Speaker | None, text: str) -> str:
        if self._current:
            if text:
                self._current.append(text)
            return text
        if not text or text.isspace():
            return ""
        self._current.append(text)
        self._speaker = speaker
        before, self._between = self._between, BLANK_LINE
        return before + self._shown(speaker, text)

    def _shown(self, speaker: Speaker | None, text: str) -> str:
        return f"{speaker}: {text}" if self._labelled else text

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
        """End the current message and return the text that was buffered behind it."""
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
            self._said.append((self._speaker, "".join(self._current)))
        self._floor, self._current, self._filter = None, [], self._new_filter()


def clipped(text: str) -> str:
    """Shorten a text to fit a log line or an error message."""
    return text if len(text) <= _CLIPPED_LENGTH else f"{text[: _CLIPPED_LENGTH - 1]}…"


def quote(text: str, length: int = _QUOTE_LENGTH) -> str:
    """Return untrusted text as one line of at most `length` printable characters.

    Invisible characters could hide instructions from the reader of a card or log.
    """
    # Slice first: the text may be megabytes.
    seen = (c if c.isprintable() else " " for c in text[: 4 * length])
    line = " ".join("".join(seen).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
