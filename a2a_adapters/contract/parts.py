"""What messages and artifacts are made of: text, files and data.

Plain values in place of the protocol's `Part` (A2A 1.0, section 4.1.6), so that an adapter
never handles protocol types. `a2a_adapters.protocol.conversion` turns them into parts and back.
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
"""A value that JSON can express."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str
    media_type: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True, init=False)
class File:
    """A file, by its bytes (`content`) or by its address (`url`): exactly one of the two.

    Its name is its `filename`, as in A2A; the `name` of an `Output` is that of the artifact.
    `name` is taken for it too, with a `DeprecationWarning`.

    Raises:
        ValueError: Both or neither are given.
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
        """Return the `media_type`, or one that fits the name; never empty."""
        guess, _ = mimetypes.guess_type(self.filename or self.url or "")
        return self.media_type or guess or "application/octet-stream"

    def received(self) -> bytes:
        """Return the bytes that the caller sent: what frameworks and models are given.

        An address is never passed on to them, they would fetch whatever it names from in here.
        Those that may be fetched are bytes by then, see `Adapter.fetch`.

        Raises:
            InvalidInputError: The file is given by its address.
        """
        if self.content is None:
            raise InvalidInputError("this agent takes files by their bytes, not by their address")
        return self.content


def _deprecate_name() -> None:
    warnings.warn("the name of a File is its filename", DeprecationWarning, stacklevel=3)


@dataclass(frozen=True, slots=True)
class Data:
    """Structured data, optionally with the JSON schema that describes it.

    `value` may be anything pydantic can turn into JSON (models and dataclasses too) when it
    is sent; received values are plain JSON. The schema travels in the part's metadata under
    `json_schema`. `media_type` says which JSON it is; empty is `application/json`.
    """

    value: object
    schema: Mapping[str, JSON] | None = field(default=None, kw_only=True)
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)
    media_type: str = field(default="", kw_only=True)


Part: TypeAlias = Text | File | Data
"""One part of a message or artifact."""


def dialogue(said: Iterable[tuple[str, Sequence[Part]]]) -> list[Part]:
    """Return the messages of several speakers as the parts of one message.

    A2A has no roles within a message: the text of each begins with its speaker, its other parts
    follow that. If all are the user's, they stay as they are.

    Args:
        said: Each message's speaker, "User" for the user, and its parts.
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
    """Return the text of all text parts, one per line."""
    return "\n".join([part.text for part in parts if isinstance(part, Text)])
