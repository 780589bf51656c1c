"""A load of conversations, and the measurements of its streams."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from statistics import quantiles
from time import perf_counter
from typing import TYPE_CHECKING

from a2a_adapters import A2AAdaptersError, AgentReply, TextDelta
from a2a_adapters.plugin import check_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import JSON


@dataclass(frozen=True, slots=True)
class Load:
    """The messages to send.

    Attributes:
        message: The text of every message.
        conversations: The number of conversations with each agent.
        turns: The number of messages in each conversation, one after the other.
        at_once: The number of conversations at the same time.

    Raises:
        ConfigurationError: A number is not a positive whole number.
    """

    message: str = "Hello"
    conversations: int = 10
    turns: int = 2
    at_once: int = 10

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_fields(self, {"conversations", "turns", "at_once"})


@dataclass(slots=True)
class Figures:
    """What an agent did with a load. Times are in seconds.

    Attributes:
        elapsed: The time with at least one open message.
        firsts: The time from each message to the first text of its answer.
        answers: The time from each message to the end of its answer.
        speeds: The tokens a second of each answer after its first text: those that the agent
            reports, or else the chunks of its stream. Answers in one piece have none.
        output_tokens: The sum of the output tokens that the agent reports.
        cost: The sum of the costs that the agent reports, in US dollars.
        errors: How often each kind of error occurred.
    """

    elapsed: float = 0.0
    firsts: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    speeds: list[float] = field(default_factory=list)
    output_tokens: int = 0
    cost: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)

    def rows(self) -> dict[str, float | None]:
        """Return the figures by name; None for one without measurements."""
        return {
            "answers": len(self.answers),
            "errors": self.errors.total(),
            "answers_per_second": len(self.answers) / self.elapsed if self.elapsed else None,
            "first_text_ms_p50": _milliseconds(self.firsts, 50),
            "first_text_ms_p99": _milliseconds(self.firsts, 99),
            "answer_ms_p50": _milliseconds(self.answers, 50),
            "answer_ms_p99": _milliseconds(self.answers, 99),
            "tokens_per_second_p50": _percentile(self.speeds, 50),
            "output_tokens": self.output_tokens or None,
            "cost_usd": self.cost or None,
        }


async def measure(agents: Mapping[str, RemoteAgent], load: Load) -> dict[str, Figures]:
    """Put a load on each agent, and return their figures by the agents' names.

    The agents take turns, one batch of conversations each, so that other work of the machine
    affects all of them.
    """
    figures: dict[str, Figures] = defaultdict(Figures)
    for count in _batches(load):
        for name, agent in agents.items():
            began = perf_counter()
            await asyncio.gather(*(_converse(agent, load, figures[name]) for _ in range(count)))
            figures[name].elapsed += perf_counter() - began
    return figures


def _batches(load: Load) -> Iterator[int]:
    for first in range(0, load.conversations, load.at_once):
        yield min(load.at_once, load.conversations - first)


async def _converse(agent: RemoteAgent, load: Load, figures: Figures) -> None:
    conversation = agent.conversation()
    for _ in range(load.turns):
        began, first, chunks = perf_counter(), None, 0
        try:
            async for event in conversation.stream(load.message):
                now = perf_counter()
                if isinstance(event, TextDelta):
                    first = first or now
                    chunks += 1
                elif isinstance(event, AgentReply):
                    reply = event
        except A2AAdaptersError as error:
            figures.errors[type(error).__name__] += 1
            return
        figures.answers.append(now - began)
        if first is not None:
            figures.firsts.append(first - began)
        tokens = reply.usage.output_tokens if reply.usage else None
        figures.output_tokens += tokens or 0
        figures.cost += _cost(reply.metadata)
        if first is not None and chunks > 1:
            figures.speeds.append((tokens or chunks) / (now - first))


def _cost(metadata: Mapping[str, JSON]) -> float:
    """Return the money that an agent reports (docs/one-trace.md)."""
    envelope = metadata.get("cost_envelope")
    actual = envelope.get("actual") if isinstance(envelope, dict) else None
    is_number = isinstance(actual, int | float) and not isinstance(actual, bool)
    return float(actual) if is_number else 0.0  # type: ignore[arg-type]


def _milliseconds(values: Sequence[float], percent: int) -> float | None:
    found = _percentile(values, percent)
    return None if found is None else 1000 * found


def _percentile(values: Sequence[float], percent: int) -> float | None:
    if len(values) < 2:
        return values[0] if values else None
    return quantiles(values, n=100, method="inclusive")[percent - 1]
