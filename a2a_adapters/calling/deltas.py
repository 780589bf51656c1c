"""Computes the new text of an answer as chunks, snapshots and status messages arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from a2a_adapters.calling.reply import RemoteArtifact
from a2a_adapters.contract.parts import JSON, Part, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class PartialArtifact:
    """An artifact that arrives in chunks, snapshots and repetitions.

    Text parts are joined without separators, because agents send tokens as parts.

    Args:
        artifact_id: The artifact's id.
        known: Its parts before the message that is being answered.
        said: Text of the answer that arrived before the artifact.
    """

    def __init__(self, artifact_id: str, known: Sequence[Part] = (), said: str = "") -> None:
        self.id = artifact_id
        self.name = ""
        self.description = ""
        self.extensions: tuple[str, ...] = ()
        self.metadata: Mapping[str, JSON] = {}
        self._known = known
        self._parts = list(known)
        self._run: list[str] = []
        self._known_text = text_of(known)
        self._shown = said or self._known_text
        self._is_corrected = False
        self._is_shown = not said
        """Whether all text so far has been returned; `_shown` is then out of date."""

    def append_text(self, text: str) -> str:
        """Append a chunk of plain text and return its new part."""
        self._run.append(text)
        return text if self._is_shown else self._news()

    def append(self, parts: Iterable[Part]) -> str:
        """Append parts and return the new text."""
        shown = self._shown_text()
        for part in parts:
            if _is_plain(part):
                self._run.append(part.text)
            else:
                self._end_run()
                self._parts.append(part)
        self._shown, self._is_shown = shown, False
        return self._news()

    def replace(self, parts: Iterable[Part]) -> str:
        """Replace all parts and return the new text.

        Text that contradicts earlier results is returned completely, on a new line.
        """
        self._shown, self._is_shown = self._shown_text(), False
        self._parts.clear()
        self._run.clear()
        return self.append(parts)

    def _news(self) -> str:
        text = self.text
        if self._shown.startswith(text) and self._shown != text:
            return ""  # an older snapshot; later ones will catch up
        self._is_shown = True
        if text.startswith(self._shown):
            return text[len(self._shown) :]
        if self._shown == self._known_text:
            return text
        self._is_corrected = True
        return f"\n{text}"

    @property
    def is_corrected(self) -> bool:
        """Whether text was returned that is no longer part of the artifact."""
        return self._is_corrected or not (self._is_shown or self.text.startswith(self._shown))

    def _shown_text(self) -> str:
        return self.text if self._is_shown else self._shown

    def _end_run(self) -> None:
        if self._run:
            self._parts.append(Text("".join(self._run)))
            self._run.clear()

    @property
    def text(self) -> str:
        """All text so far."""
        return text_of(self._parts) + "".join(self._run)

    def news(self) -> tuple[RemoteArtifact, str] | None:
        """Return the artifact without its known parts, and its text; None if nothing is new."""
        self._end_run()
        parts = _merged(self._parts)
        known = _merged(self._known)
        if parts[: len(known)] == known:
            parts = parts[len(known) :]
        elif known and _continues(parts, known):
            last = len(known) - 1
            rest = Text(text_of(parts[last : last + 1])[len(text_of(known[last:])) :])
            parts = [rest, *parts[last + 1 :]]
        if not parts:
            return None
        artifact = RemoteArtifact(
            id=self.id,
            parts=parts,
            name=self.name,
            description=self.description,
            metadata=self.metadata,
            extensions=self.extensions,
        )
        return artifact, text_of(parts)


def text_of(parts: Iterable[Part]) -> str:
    """Return the text of all text parts, without separators."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def _is_plain(part: Part) -> TypeGuard[Text]:
    return isinstance(part, Text) and not part.metadata and not part.media_type


def _merged(parts: Iterable[Part]) -> list[Part]:
    """Join adjacent text parts."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if _is_plain(part) and last is not None and _is_plain(last):
            merged[-1] = Text(last.text + part.text)
        elif not isinstance(part, Text) or part.text:
            merged.append(part)
    return merged


def _continues(parts: Sequence[Part], known: Sequence[Part]) -> bool:
    """Return whether `parts` start with `known`, whose last text may have grown."""
    last = len(known) - 1
    if parts[:last] != known[:last] or len(parts) <= last:
        return False
    part, before = parts[last], known[last]
    return isinstance(part, Text) and isinstance(before, Text) and part.text.startswith(before.text)


class WorkingText:
    """Joins the texts of working statuses, which are deltas or growing snapshots.

    The first two texts of a message show which. A text that equals the message so far only repeats
    it: google-adk ends its deltas, and langgraph-api its snapshots, in this way.

    Attributes:
        text: The current message.
    """

    def __init__(self) -> None:
        self.text = ""
        self._earlier: list[str] = []
        self._are_snapshots: bool | None = None
        self._is_over = False

    def add(self, text: str) -> str:
        """Add the text of a status and return its new part."""
        said = self.text
        if text == said:
            self._is_over = not self._are_snapshots
            return ""
        if said and text.startswith(said) and self._are_snapshots is not False:
            self._are_snapshots, self._is_over, self.text = True, False, text
            return text[len(said) :]
        if said and not self._are_snapshots and not self._is_over:
            self._are_snapshots, self.text = False, said + text
            return text
        if said:
            self._earlier.append(said)
        self._is_over, self.text = False, text
        return f"\n{text}" if said else text

    def rest(self, text: str) -> str:
        """Return the part of a final text that has not been returned, or all on a new line."""
        for said in (self.whole, self.text):
            if text.startswith(said):
                return text[len(said) :]
        return f"\n{text}" if text else ""

    @property
    def whole(self) -> str:
        """All messages, one per line."""
        return "\n".join([*self._earlier, self.text])
