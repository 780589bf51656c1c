"""Checks that clients of A2A 0.3 and 1.0 read the same card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.compat.v0_3.types import AgentCard as OldCard
from pydantic import ValidationError

from a2a_adapters.contract.errors import violations
from a2a_adapters_check.interfaces import old_interfaces_of
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.subject import Subject


def _is_for_old(subject: Subject) -> bool:
    """Return whether the card has fields for clients of 0.3."""
    return not subject.is_current or bool({"url", "protocolVersion"} & subject.card.keys())


@check(
    "card.old-view",
    Severity.ERROR,
    clause="A2A 0.3.0, 5.5",
    remedy="Fill in all fields of 0.3, or remove them: url, protocolVersion, "
    "preferredTransport, additionalInterfaces.",
)
async def old_view(subject: Subject) -> AsyncIterator[Fault]:
    """Clients of A2A 0.3 can read a card meant for them."""
    if not _is_for_old(subject):
        return
    try:
        OldCard.model_validate(subject.card)
    except ValidationError as error:
        for place, what in violations(error):
            yield Fault(f"for clients of 0.3: {place}: {what}", f"/{place.replace('.', '/')}")


@check(
    "card.generations",
    Severity.ERROR,
    clause="A2A 1.0.1, appendix A.2",
    remedy="Generate both from one source; supportedInterfaces includes all 0.3 interfaces.",
)
async def generations(subject: Subject) -> AsyncIterator[Fault]:
    """The fields of A2A 0.3 and 1.0 agree."""
    if not (subject.is_current and _is_for_old(subject)):
        return
    current = {(each.url.rstrip("/"), each.binding) for each in subject.interfaces}
    for each in old_interfaces_of(subject.card):
        if (each.url.rstrip("/"), each.binding) not in current:
            message = f"{each.binding} at {each.url} is in the fields of 0.3 only"
            yield Fault(message, each.where)
    is_extended = subject.declares("extendedAgentCard")
    old = subject.card.get("supportsAuthenticatedExtendedCard")
    if isinstance(old, bool) and old != is_extended:
        where = "/supportsAuthenticatedExtendedCard"
        yield Fault("the extended card is declared in one version's fields only", where)
    wants, wanted = subject.card.get("securityRequirements"), subject.card.get("security")
    if bool(wants) != bool(wanted):
        yield Fault("credentials are required in one version's fields only", "/security")


@check(
    "card.old-version",
    Severity.ERROR,
    clause="A2A 0.3.0, 5.5",
    remedy='Write "0.3" or "0.3.0" as protocolVersion beside url.',
)
async def old_version(subject: Subject) -> AsyncIterator[Fault]:
    """The fields of A2A 0.3 name a 0.3 version."""
    version = subject.card.get("protocolVersion")
    if isinstance(version, str) and _is_for_old(subject) and not version.startswith("0."):
        message = f"protocolVersion is {version!r} in a field that only clients of 0.3 read"
        yield Fault(message, "/protocolVersion")
