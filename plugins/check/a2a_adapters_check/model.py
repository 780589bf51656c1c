"""What a check is, and what its function finds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.contract.text import quote
from a2a_adapters_check.report import Finding, Severity

if TYPE_CHECKING:
    from a2a_adapters_check.subject import Subject

__all__ = ["Check", "Fault", "check"]

_MESSAGE_LENGTH = 400
_WHERE_LENGTH = 200
_MOST = 20
"""How many findings of one check are told; a card may have thousands of skills."""


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
        is_last: Whether it is made when others are done: it sends what some servers do not survive.
        needs_card: Whether it needs a card that can be read.
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
        """Return what is found, 20 findings at most.

        Raises:
            UncheckedError: It cannot be looked for.
        """
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
    is_last: bool = False,
    needs_card: bool = True,
) -> Callable[[Find], Check]:
    """Return a decorator that makes a check of the function that yields its faults."""

    def decorate(find: Find) -> Check:
        return Check(
            name,
            title,
            clause,
            severity,
            remedy,
            find,
            sends=sends,
            is_last=is_last,
            needs_card=needs_card,
        )

    return decorate
