"""What was found: findings, and the report of all of them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Finding", "Report", "Severity", "UncheckedError"]

NEVER_SENT = "it would send messages"
UNREACHABLE = "no interface over HTTP answers"
UNAUTHENTICATED = "the agent wants credentials, or other ones"
"""Why checks are left out."""


class Severity(enum.StrEnum):
    """How bad a finding is; greater is worse."""

    NOTE = "note"
    """Something the specification advises, or that helps callers."""
    WARNING = "warning"
    """What the specification says should be otherwise, or what some clients stumble over."""
    ERROR = "error"
    """What the specification forbids, what does not work, or a hole."""

    @property
    def rank(self) -> int:
        """Its place among the severities, the least of which is 0."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with an agent, and how to mend it.

    Texts are one line of printable characters each, whatever the agent has sent.

    Attributes:
        id: The check's id, as in `card.required`.
        severity: How bad it is.
        message: What is wrong.
        clause: What asks for it, as in `A2A 1.0.1, 4.4.1`.
        remedy: What to do.
        where: A JSON pointer into the card, or an address; "" for the agent as a whole.
    """

    id: str
    severity: Severity
    message: str
    clause: str
    remedy: str
    where: str = ""


class UncheckedError(Exception):
    """A check cannot be made; the text is the reason, as told in the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What all checks found.

    Attributes:
        url: The address that was checked.
        agent: The agent's name, "" if it has no card that can be read.
        findings: What is wrong, the worst first.
        passed: Ids of the checks that found nothing.
        skipped: Ids of the checks that were not made, with the reason.
        figures: What was measured, in milliseconds: `latency` of a small request, and
            `first_token`, the time from a message to the first text of its answer.
        seconds: How long it took.
    """

    url: str
    agent: str = ""
    findings: tuple[Finding, ...] = ()
    passed: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0

    def at_least(self, severity: Severity) -> list[Finding]:
        """Return the findings that are as bad or worse."""
        return [each for each in self.findings if each.severity.rank >= severity.rank]

    @property
    def is_sound(self) -> bool:
        """Whether nothing worse than a note was found."""
        return not self.at_least(Severity.WARNING)
