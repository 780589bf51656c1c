"""Checks and the faults they find."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.contract.text import quote
from a2a_adapters_check.clauses import OLD_CLAUSES
from a2a_adapters_check.report import Finding, Severity

if TYPE_CHECKING:
    from a2a_adapters_check.subject import Subject

__all__ = ["Check", "Fault", "check"]

_MESSAGE_LENGTH = 400
_WHERE_LENGTH = 200
_MOST = 20
"""Maximum number of findings per check; a card may have thousands of skills."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault found by a check.

    Attributes:
        message: Description in one line.
        where: JSON pointer into the card, or a URL.
        severity: Overrides the severity of the check.
    """

    message: str
    where: str = ""
    severity: Severity | None = None


Find: TypeAlias = Callable[["Subject"], AsyncIterator[Fault]]


@dataclass(frozen=True, slots=True)
class Check:
    """A rule that an agent has to satisfy.

    Attributes:
        id: Unique name in the form `theme.subject`.
        title: The rule as a statement; true if there are no findings.
        clause: Section of the specification that requires it.
        severity: Severity of a violation.
        remedy: How to fix a violation.
        find: Yields the violations.
        sends: Whether it sends messages.
        is_last: Whether it runs after the others, because some servers crash on its requests.
        needs_card: Whether it needs a valid card.
    """

    id: str
    title: str
    clause: str
    severity: Severity
    remedy: str
    find: Find = field(repr=False)
    sends: bool = False
    is_last: bool = False
    needs_card: bool = True

    async def __call__(self, subject: Subject) -> list[Finding]:
        """Return the findings, at most 20, each once.

        Raises:
            UncheckedError: The check cannot run.
        """
        found: list[Finding] = []
        async for fault in self.find(subject):
            finding = self._finding(fault, is_old=not subject.is_current)
            if finding.message in {each.message for each in found}:
                continue
            found.append(finding)
            if len(found) == _MOST:
                break
        return found

    def _finding(self, fault: Fault, *, is_old: bool) -> Finding:
        return Finding(
            id=self.id,
            severity=fault.severity or self.severity,
            message=quote(fault.message, _MESSAGE_LENGTH),
            clause=OLD_CLAUSES.get(self.id, self.clause) if is_old else self.clause,
            remedy=self.remedy,
            where=quote(fault.where, _WHERE_LENGTH),
        )


def check(
    name: str,
    severity: Severity,
    *,
    clause: str,
    remedy: str,
    sends: bool = False,
    is_last: bool = False,
    needs_card: bool = True,
) -> Callable[[Find], Check]:
    """Return a decorator that turns a function into a check; its docstring becomes the title."""

    def decorate(find: Find) -> Check:
        title = (find.__doc__ or name).removesuffix(".")
        return Check(name, title, clause, severity, remedy, find, sends, is_last, needs_card)

    return decorate
