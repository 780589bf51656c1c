"""Identifiers, made faster than by `uuid.uuid4`."""

from __future__ import annotations

import os
import re
import time


def new_id() -> str:
    """Return a random id, for a message or an artifact."""
    return os.urandom(16).hex()


def new_uuid() -> str:
    """Return a UUID (version 7, RFC 9562), for what clients keep: a task or a context.

    It begins with the time, so that what is made together stands together in a database's indexes;
    74 bits are random, so that nobody guesses it.
    """
    made = f"{time.time_ns() // 1_000_000:012x}"
    digits = os.urandom(10).hex()
    variant = "89ab"[int(digits[3], 16) & 3]
    return f"{made[:8]}-{made[8:]}-7{digits[:3]}-{variant}{digits[4:7]}-{digits[7:19]}"


_RANDOM = re.compile("[0-9a-fA-F]{32}")
_DISTINCT_DIGITS = 8
_LONGEST_SEARCHED = 256


def is_guessable(text: str) -> bool:
    """Return whether another caller might choose the same id.

    An id cannot be guessed if it holds 32 hexadecimal digits in a row, as a UUID does (hyphens
    between them do not count), at least eight of them different and one of them a letter.
    """
    found = _RANDOM.search(text[:_LONGEST_SEARCHED].replace("-", ""))
    if found is None:
        return True
    digits = set(found[0].lower())
    return len(digits) < _DISTINCT_DIGITS or digits.isdisjoint("abcdef")
