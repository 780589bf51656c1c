"""What a seeded fault is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.plugins.check.broken import Edit, on_card
from tests.plugins.check.support import plain


@dataclass(frozen=True)
class Seed:
    """One fault.

    Attributes:
        name: What is broken.
        found_by: The id of the check that has to find it.
        edit: Breaks it.
        sends: Whether messages are needed to find it.
        app: Makes the server that is sound otherwise.
        edits_subscriptions: Whether the answers to subscriptions are edited, too.
    """

    name: str
    found_by: str
    edit: Edit
    sends: bool = False
    app: Callable[[], Any] = plain
    edits_subscriptions: bool = False


def put(path: str, value: Any) -> Edit:
    """Return an edit that puts a value into the card; None takes it out."""

    def change(card: Any) -> None:
        *way, last = path.split("/")
        for key in way:
            card = card[int(key) if key.isdecimal() else key]
        if value is None:
            del card[last]
        else:
            card[int(last) if last.isdecimal() else last] = value

    return on_card(change)
