"""The parts of messages and artifacts: text, files and data.

These plain values stand for the protocol's `Part` (A2A 1.0, section 4.1.6), so that adapters handle
no protocol types. `a2a_adapters.protocol.conversion` converts between the two.
"""

from __future__ import annotations

import mimetypes
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.contract.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

JSON: TypeAlias = "str | int | float | bool | Sequence[JSON] | Mapping[str, JSON] | None"
"""A JSON value."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text part."""

    text: str
    media_type: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True, init=False)
class File:
    """A file, given either as bytes (`content`) or as a `url`.

    `name` is a deprecated alias of `filename`.

    Raises:
        ValueError: Both or neither of `content` and `url` are given.
    """

    content: bytes | None = None
    url: str | None = None
    media_type: str = ""
    filename: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)

    def __init__(
        self,
        *,
        content: bytes | None = None,
        url: str | None = None,
        media_type: str = "",
        filename: str = "",
        metadata: Mapping[str, JSON] | None = None,
        name: str | None = None,
    ) -> None:
        if (content is None) == (url is None):
            raise ValueError("a File has either content or a url")
        if name is not None:
            _deprecate_name()
        set_field = object.__setattr__  # the class is frozen
        set_field(self, "content", content)
        set_field(self, "url", url)
        set_field(self, "media_type", media_type)
        set_field(self, "filename", filename or name or "")
        set_field(self, "metadata", {} if metadata is None else metadata)

    @property
    def name(self) -> str:
        """The `filename`; deprecated."""
        _deprecate_name()
        return self.filename

    def guess_media_type(self) -> str:
        """Return the `media_type`, or a guess from the file name; never empty."""
        guess, _ = mimetypes.guess_type(self.filename or self.url or "")
        return self.media_type or guess or "application/octet-stream"

    def received(self) -> bytes:
        """Return the bytes, for a framework or a model.

        Never hand a caller's URL to a framework, which might fetch it from the internal network.
        URLs that may be fetched have already been replaced by bytes, see `Adapter.fetch`.

        Raises:
            InvalidInputError: The file is given by its URL.
        """
        if self.content is None:
            raise InvalidInputError("this agent takes files by their bytes, not by their address")
        return self.content


def _deprecate_name() -> None:
    warnings.warn("the name of a File is its filename", DeprecationWarning, stacklevel=3)


@dataclass(frozen=True, slots=True)
class Data:
    """Structured data, optionally with its JSON schema.

    To send, `value` may be anything that pydantic can serialise, including models and dataclasses,
    and arrays and numbers of numpy; received values are plain JSON. The schema is sent in the
    part's metadata as `json_schema`. An empty `media_type` means `application/json`.
    """

    value: object
    schema: Mapping[str, JSON] | None = field(default=None, kw_only=True)
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)
    media_type: str = field(default="", kw_only=True)


Part: TypeAlias = Text | File | Data
"""A part of a message or artifact."""


def dialogue(said: Iterable[tuple[str, Sequence[Part]]]) -> list[Part]:
    """Join the messages of several speakers into the parts of one message.

    Because A2A has no roles within a message, each text is prefixed with its speaker. Messages that
    are all the user's are joined unchanged.

    Args:
        said: The speaker ("User" for the user) and the parts of each message.
    """
    said = list(said)
    if all(speaker == "User" for speaker, _ in said):
        return [part for _, parts in said for part in parts]
    joined: list[Part] = []
    for speaker, parts in said:
        joined.append(Text(f"{speaker}: {join_text(parts)}"))
        joined += [part for part in parts if not isinstance(part, Text)]
    return joined


def join_text(parts: Sequence[Part]) -> str:
    """Return the text of all text parts, joined by newlines."""
    return "\n".join([part.text for part in parts if isinstance(part, Text)])
