"""Calls to deployments: prompts, answers and failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypeAlias, TypedDict

from a2a_adapters import A2AAdaptersError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from a2a_adapters import File, Part


_MOST_TOKENS = 10**9
"""Upper limit of credible token counts."""


class Message(TypedDict):
    """A message in OpenAI's chat format; the content is text, or blocks of text and files."""

    role: str
    content: str | list[dict[str, Any]]
    tool_calls: NotRequired[list[dict[str, Any]]]
    tool_call_id: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The input of a call.

    Attributes:
        messages: The conversation.
        files: The files in it, in order.
        params: Parameters of OpenAI's chat completions, such as `temperature` and `tools`.
    """

    messages: Sequence[Message]
    files: Sequence[File] = ()
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def media(self) -> dict[str, list[int]]:
        """Sizes in bytes of non-text files, by the model capability they need."""
        found: dict[str, list[int]] = {}
        for each in self.files:
            if need := need_of(each.media_type):
                found.setdefault(need, []).append(len(each.content or b""))
        return found


def need_of(media_type: str) -> str:
    """Return litellm's name of the capability needed for a file; "" for text.

    Raises:
        KeyError: No model supports the media type.
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
    """Tokens of a call; `cached` input tokens were in the provider's cache."""

    input: int = 0
    output: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """Input and output tokens."""
        return self.input + self.output

    def is_sensible(self, received: str) -> bool:
        """Return whether the numbers are plausible for an answer."""
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
class Corrected:
    """The text of an answer so far, in place of all its chunks."""

    text: str


@dataclass(frozen=True, slots=True)
class OtherParts:
    """Parts of an answer other than text."""

    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Used:
    """Usage reported by the provider."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Ended:
    """OpenAI's finish reason: "stop", "length", "tool_calls" or "content_filter"."""

    reason: str


News: TypeAlias = Chunk | Corrected | OtherParts | Used | Ended
"""Items yielded by a call."""


class FailedCallError(A2AAdaptersError):
    """A deployment failed to answer, or its answer broke off.

    Attributes:
        reason: The cause, safe to show to callers.
        is_passing: Whether a retry may succeed.
        is_callers: Whether the caller's input caused it, so the deployment needs no cooldown.
        wait: Seconds until the deployment accepts calls again, if it said so.
        rejection: The reason for the caller if an agent rejected the task, such as by a guardrail.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_passing: bool = False,
        is_callers: bool = False,
        wait: float | None = None,
        rejection: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_passing = is_passing
        self.is_callers = is_callers
        self.wait = wait
        self.rejection = rejection


class Callee(Protocol):
    """The model or agent of a deployment."""

    def lacks(self, prompt: Prompt) -> str:
        """Return why it does not support a prompt, as a clause; "" if it does."""

    def count(self, prompt: Prompt) -> int:
        """Return the number of tokens in a prompt's text."""

    def call(self, prompt: Prompt, max_tokens: int) -> AsyncGenerator[News]:
        """Send a prompt and yield the answer. Closing the generator cancels the call.

        Raises:
            FailedCallError: The answer is missing or incomplete.
        """

    async def aclose(self) -> None:
        """Close connections."""
