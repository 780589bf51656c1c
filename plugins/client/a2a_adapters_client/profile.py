"""A card as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.calling.auth import wanted_credentials
from a2a_adapters_client.shown import field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a.types import AgentCard


def profile(card: AgentCard, signature: str, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of a card.

    Args:
        card: The card.
        signature: What is to be said of its signatures.
        verbose: Whether all of its skills are shown, not only their names.
    """
    yield field("Name", card.name)
    yield field("Description", card.description)
    yield field("Version", card.version)
    if card.provider.organization:
        yield field("Provider", card.provider.organization)
    for interface in card.supported_interfaces:
        binding = f"{interface.protocol_binding} {interface.protocol_version}".strip()
        yield field("Interface", f"{binding} {interface.url}")
    capabilities = card.capabilities
    yield field("Streaming", _yes(capabilities.streaming))
    yield field("Push-Notifications", _yes(capabilities.push_notifications))
    yield field("Extended-Card", _yes(capabilities.extended_agent_card))
    for extension in capabilities.extensions:
        required = " (required)" if extension.required else ""
        yield field("Extension", extension.uri + required)
    yield field("Input", ", ".join(card.default_input_modes))
    yield field("Output", ", ".join(card.default_output_modes))
    yield field("Credentials", wanted_credentials(card) or "none")
    yield field("Signature", signature)
    for skill in card.skills:
        yield field("Skill", f"{skill.name}: {skill.description}")
        if verbose:
            yield field("Skill-Id", skill.id)
            yield field("Tags", ", ".join(skill.tags))
            for example in skill.examples:
                yield field("Example", example)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
