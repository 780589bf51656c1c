"""Words that there are not."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def nearest(word: str, known: Collection[str]) -> str:
    """Say which of the words that there are may have been meant; all of them if none is near."""
    found = difflib.get_close_matches(word.lower(), known, 1, 0.5)
    return f"did you mean {found[0]}?" if found else f"there are {', '.join(known)}"
