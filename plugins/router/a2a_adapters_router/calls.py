"""A call to a deployment: what is sent, what comes back, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypedDict

from a2a_adapters import A2AAdaptersError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a_adapters import Part


_MOST_TOKENS = 10**9
"""More than any call takes: who tells of more is not to be believed."""


class Message(TypedDict):
    """A message as chat models take it."""

    role: str
    content: str


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


News: TypeAlias = Chunk | Others | Used
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

    def count(self, messages: Sequence[Message]) -> int:
        """Return how many tokens messages are."""

    def call(self, messages: Sequence[Message], max_tokens: int) -> AsyncGenerator[News]:
        """Send messages and yield the answer. Closing the generator ends the provider's work.

        Raises:
            FailedCallError: There is no answer, or no whole one.
        """

    async def aclose(self) -> None:
        """Close connections."""
