"""The files and data of messages, each of which a task sends once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from a2a_adapters import File, Part, Text
from a2a_adapters.plugin import as_text
from a2a_adapters_langchain.serving.content import said_parts

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


class SentParts:
    """The parts, other than text, that a task has sent with its questions.

    Attributes:
        digests: A digest of each part.
    """

    def __init__(self, digests: Iterable[str] = ()) -> None:
        self.digests = [*digests]

    def add(self, parts: Iterable[Part]) -> None:
        """Note that parts are sent."""
        self.digests += [_digest(part) for part in parts if not isinstance(part, Text)]

    def unsent(self, messages: Sequence[BaseMessage]) -> Iterator[tuple[BaseMessage, list[Part]]]:
        """Yield messages with their text, and the files and data that were not sent, in order.

        A part that was sent once, but is in several messages, is taken for that of the first one.

        Args:
            messages: The messages of the task, in order.
        """
        left = Counter(self.digests)
        for message in messages:
            parts = []
            for part in said_parts(message):
                if left and not isinstance(part, Text) and left[digest := _digest(part)]:
                    left[digest] -= 1
                else:
                    parts.append(part)
            yield message, parts


def _digest(part: Part) -> str:
    content = part.content if isinstance(part, File) and part.content else b""
    return hashlib.sha256(as_text([part]).encode("utf-8", "replace") + content).hexdigest()[:16]
