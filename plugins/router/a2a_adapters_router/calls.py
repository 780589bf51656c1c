"""A call to a deployment: what is sent, what comes back, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypeAlias, TypedDict

from a2a_adapters import A2AAdaptersError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from a2a_adapters import File, Part


_MOST_TOKENS = 10**9
"""More than any call takes: who tells of more is not to be believed."""


class Message(TypedDict):
    """A message as OpenAI's chat models take it; its content is text, or blocks of it and files."""

    role: str
    content: str | list[dict[str, Any]]
    tool_calls: NotRequired[list[dict[str, Any]]]
    tool_call_id: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Prompt:
    """All that is sent in a call.

    Attributes:
        messages: The conversation.
        files: Those in it, in their order.
        params: Parameters of OpenAI's chat completions, such as `temperature` and `tools`.
    """

    messages: Sequence[Message]
    files: Sequence[File] = ()
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def media(self) -> dict[str, list[int]]:
        """The sizes in bytes of the files that are no text, by what a model needs for them."""
        found: dict[str, list[int]] = {}
        for each in self.files:
            if need := need_of(each.media_type):
                found.setdefault(need, []).append(len(each.content or b""))
        return found


def need_of(media_type: str) -> str:
    """Return what a model needs for a file, in litellm's words; "" for text.

    Raises:
        KeyError: No model takes such files.
    """
    kind = media_type.partition(";")[0].strip().lower()
    if kind.startswith("text/") or kind in _TEXTS:
        return ""
    return _NEEDS[kind if kind in _NEEDS else kind.partition("/")[0]]


_NEEDS = {"image": "vision", "audio": "audio_input", "application/pdf": "pdf_input"}
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml"})


def text_of(message: Message) -> str:
    """Return the text of a message."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of a call, and how many of those sent the provider had in its cache."""

    input: int = 0
    output: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.output

    def is_sensible(self, received: str) -> bool:
        """Tell whether an answer can have used so much."""
        is_enough = self.input > 0 and (self.output > 0 or not received)
        return is_enough and min(self.output, self.cached) >= 0 and self.total < _MOST_TOKENS

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input, self.output + other.output, self.cached + other.cached
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next piece of an answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Others:
    """What an answer holds beside its text."""

    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Used:
    """What the provider says that the call used."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Ended:
    """Why the answer ends, in OpenAI's words: "stop", "length", "tool_calls", "content_filter"."""

    reason: str


News: TypeAlias = Chunk | Others | Used | Ended
"""What a call yields."""


class FailedCallError(A2AAdaptersError):
    """A deployment did not answer, or broke off.

    Attributes:
        reason: Why, in words that callers may read.
        is_passing: Whether the same call may go well a little later.
        is_callers: Whether it lies in what the caller sent: no cooldown for the deployment.
        wait: How long the deployment wants to be left alone, in seconds; None if it said nothing.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_passing: bool = False,
        is_callers: bool = False,
        wait: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_passing = is_passing
        self.is_callers = is_callers
        self.wait = wait


class Callee(Protocol):
    """What is behind a deployment."""

    def lacks(self, prompt: Prompt) -> str:
        """Return what of a prompt it does not take, as the end of a sentence; "" for nothing."""

    def count(self, prompt: Prompt) -> int:
        """Return how many tokens the text of a prompt is."""

    def call(self, prompt: Prompt, max_tokens: int) -> AsyncGenerator[News]:
        """Send a prompt and yield the answer. Closing the generator ends the provider's work.

        Raises:
            FailedCallError: There is no answer, or no whole one.
        """

    async def aclose(self) -> None:
        """Close connections."""
