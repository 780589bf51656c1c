"""What a check is, what it finds, and the report of all of them."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.protocol.shown import quote

if TYPE_CHECKING:
    from a2a_adapters.checks.subject import Subject

__all__ = ["Check", "Fault", "Finding", "Report", "Severity", "check"]

_MESSAGE_LENGTH = 400
_WHERE_LENGTH = 200
_MOST = 20
"""How many findings of one check are told; a card may have thousands of skills."""


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
class Fault:
    """What a check's function found: what it is, and where.

    Attributes:
        message: What is wrong, on one line.
        where: A JSON pointer into the card, or an address.
        severity: Set if it is other than the check's own.
    """

    message: str
    where: str = ""
    severity: Severity | None = None


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


Find: TypeAlias = Callable[["Subject"], AsyncIterator[Fault]]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is looked at.

    Attributes:
        id: What it is known by: the theme, a dot, the thing.
        title: What holds if it finds nothing.
        clause: What asks for that.
        severity: How bad it is if that does not hold.
        remedy: What to do then.
        find: Looks for it.
        sends: Whether it needs messages to be sent.
        needs_card: Whether it needs a card that can be read.
    """

    id: str
    title: str
    clause: str
    severity: Severity
    remedy: str
    find: Find = field(repr=False)
    sends: bool = False
    needs_card: bool = True

    async def __call__(self, subject: Subject) -> list[Finding]:
        """Return what is found, 20 findings at most."""
        found: list[Finding] = []
        async for fault in self.find(subject):
            found.append(self._finding(fault))
            if len(found) == _MOST:
                break
        return found

    def _finding(self, fault: Fault) -> Finding:
        return Finding(
            id=self.id,
            severity=fault.severity or self.severity,
            message=quote(fault.message, _MESSAGE_LENGTH),
            clause=self.clause,
            remedy=self.remedy,
            where=quote(fault.where, _WHERE_LENGTH),
        )


def check(
    name: str,
    severity: Severity,
    title: str,
    *,
    clause: str,
    remedy: str,
    sends: bool = False,
    needs_card: bool = True,
) -> Callable[[Find], Check]:
    """Return a decorator that makes a check of the function that yields its faults."""

    def decorate(find: Find) -> Check:
        return Check(name, title, clause, severity, remedy, find, sends, needs_card)

    return decorate


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
