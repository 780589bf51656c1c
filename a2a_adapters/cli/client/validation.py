"""A card against the schema of A2A 1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import validate_proto_required_fields

from a2a_adapters.calling.card import InvalidCardError
from a2a_adapters.protocol.errors import json_violations

if TYPE_CHECKING:
    from a2a.types import AgentCard


def check_card(card: AgentCard) -> None:
    """Refuse a card that lacks what one has to have (A2A 1.0, section 4.4.1).

    Raises:
        InvalidCardError: It names the fields.
    """
    try:
        validate_proto_required_fields(card)
    except InvalidParamsError as error:
        found = "; ".join(f"{name}: {text}" for name, text in json_violations(error))
        raise InvalidCardError(f"the card is not as A2A 1.0 wants it: {found}") from error
