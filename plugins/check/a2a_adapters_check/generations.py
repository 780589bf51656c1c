"""Whether clients of A2A 0.3 read the same card as those of 1.0."""

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
    """Tell whether the card says that clients of 0.3 may read it."""
    return not subject.is_current or bool({"url", "protocolVersion"} & subject.card.keys())


@check(
    "card.old-view",
    Severity.ERROR,
    "Clients of A2A 0.3 can read the card, if it is for them",
    clause="A2A 0.3.0, 5.5",
    remedy="Fill the fields of 0.3 as well, or take all of them out: url, protocolVersion, "
    "preferredTransport, additionalInterfaces.",
)
async def old_view(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of what the schema of 0.3 refuses."""
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
    "Both generations of fields say the same",
    clause="A2A 1.0.1, appendix A.2",
    remedy="Make both from one description; every interface of 0.3 is in supportedInterfaces, too.",
)
async def generations(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of what clients of 0.3 are told otherwise."""
    if not (subject.is_current and _is_for_old(subject)):
        return
    current = {(each.url.rstrip("/"), each.binding) for each in subject.interfaces}
    for each in old_interfaces_of(subject.card):
        if (each.url.rstrip("/"), each.binding) not in current:
            told = f"{each.binding} at {each.url} is in the fields of 0.3 only"
            yield Fault(told, each.where)
    is_extended = subject.declares("extendedAgentCard")
    old = subject.card.get("supportsAuthenticatedExtendedCard")
    if isinstance(old, bool) and old != is_extended:
        where = "/supportsAuthenticatedExtendedCard"
        yield Fault("the extended card is there for clients of one generation only", where)
    wants, wanted = subject.card.get("securityRequirements"), subject.card.get("security")
    if bool(wants) != bool(wanted):
        yield Fault("credentials are asked for in one generation of fields only", "/security")


@check(
    "card.old-version",
    Severity.ERROR,
    "The fields of 0.3 name a version of 0.3",
    clause="A2A 0.3.0, 5.5",
    remedy='Write "0.3" or "0.3.0" as protocolVersion beside url.',
)
async def old_version(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of a version that makes clients of 0.3 refuse the card."""
    version = subject.card.get("protocolVersion")
    if isinstance(version, str) and _is_for_old(subject) and not version.startswith("0."):
        told = f"protocolVersion {version!r} stands in the field that only clients of 0.3 read"
        yield Fault(told, "/protocolVersion")
