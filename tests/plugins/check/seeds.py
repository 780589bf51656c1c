"""The definition of a seeded fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.plugins.check.broken import Edit, on_card
from tests.plugins.check.support import plain


@dataclass(frozen=True)
class Seed:
    """A server with one fault.

    Attributes:
        name: Describes the fault.
        found_by: Id of the check that finds it.
        edit: Introduces it.
        sends: Whether finding it needs messages.
        app: Builds the sound server.
        edits_subscriptions: Whether subscriptions are edited as well.
    """

    name: str
    found_by: str
    edit: Edit
    sends: bool = False
    app: Callable[[], Any] = plain
    edits_subscriptions: bool = False


def put(path: str, value: Any) -> Edit:
    """Return an edit that sets a value in the card; None removes it."""

    def change(card: Any) -> None:
        *way, last = path.split("/")
        for key in way:
            card = card[int(key) if key.isdecimal() else key]
        if value is None:
            del card[last]
        else:
            card[int(last) if last.isdecimal() else last] = value

    return on_card(change)
