"""Findings and the report that collects them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Finding", "Report", "Severity", "UncheckedError"]

NEVER_SENT = "they send messages"
UNREACHABLE = "no HTTP interface answers"
UNAUTHENTICATED = "the agent requires valid credentials"
ONLY_OLD = "no HTTP interface supports A2A 1.0"
"""Reasons for skipped checks."""


class Severity(enum.StrEnum):
    """Severity of a finding; greater is worse."""

    NOTE = "note"
    """A recommendation of the specification, or a help for clients."""
    WARNING = "warning"
    """A violated SHOULD of the specification, or a problem for some clients."""
    ERROR = "error"
    """A violated MUST of the specification, a defect, or a security hole."""

    @property
    def rank(self) -> int:
        """Rank among the severities; 0 is the lowest."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of an agent and its remedy.

    Texts are sanitised: one line of printable characters each.

    Attributes:
        id: Id of the check, such as `card.required`.
        severity: Its severity.
        message: The problem.
        clause: The requirement, such as `A2A 1.0.1, 4.4.1`.
        remedy: How to fix it.
        where: JSON pointer into the card, or a URL; "" for the agent as a whole.
    """

    id: str
    severity: Severity
    message: str
    clause: str
    remedy: str
    where: str = ""


class UncheckedError(Exception):
    """A check cannot run; the text is the reason shown in the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Result of all checks.

    Attributes:
        url: URL of the agent.
        agent: Name of the agent, "" without a valid card.
        findings: The findings, most severe first.
        passed: Ids of the checks without findings.
        skipped: Ids of the checks that did not run, with the reason.
        figures: Measurements in milliseconds: `latency` of a small request, and
            `first_token`, the time from a message to the first text of its answer.
        seconds: Duration of the checks.
        holds_text: Whether text is sent after the agent's guardrails have accepted it. If false,
            it is sent before they have checked it. None if the card does not say.
    """

    url: str
    agent: str = ""
    findings: tuple[Finding, ...] = ()
    passed: tuple[str, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0
    holds_text: bool | None = None

    def at_least(self, severity: Severity) -> list[Finding]:
        """Return the findings of at least this severity."""
        return [each for each in self.findings if each.severity.rank >= severity.rank]

    @property
    def is_answered(self) -> bool:
        """Whether the agent was sent a message, which is the purpose of `send`."""
        return bool(self.agent) and "send.answers" not in self.skipped

    @property
    def is_sound(self) -> bool:
        """Whether there are no findings worse than a note."""
        return not self.at_least(Severity.WARNING)
