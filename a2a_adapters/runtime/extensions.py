"""Extensions of the protocol: what a card offers, and what callers activate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.utils.errors import ExtensionSupportRequiredError

if TYPE_CHECKING:
    from a2a.types import AgentCard, Message


class Extensions:
    """The extensions that a card lists (A2A 1.0, section 4.6.1)."""

    def __init__(self, card: AgentCard) -> None:
        listed = card.capabilities.extensions
        self._offered = frozenset(extension.uri for extension in listed)
        self._required = frozenset(extension.uri for extension in listed if extension.required)

    def check(self, requested: set[str], message: Message) -> None:
        """Refuse a caller that does not activate what is required (section 3.3.4).

        a2a-sdk 1.3 leaves this to the agent.

        Raises:
            ExtensionSupportRequiredError: An extension is missing.
        """
        for uri in self._required - requested:
            if uri not in message.extensions:
                raise ExtensionSupportRequiredError(
                    f"activate the extension {uri} by the header A2A-Extensions"
                )

    def activated(self, requested: set[str]) -> list[str]:
        """Return which of the requested extensions the agent has."""
        return sorted(self._offered & requested)
