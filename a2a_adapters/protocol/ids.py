"""Identifiers, made faster than by `uuid.uuid4`."""

from __future__ import annotations

import os


def new_id() -> str:
    """Return a random id, for a message or an artifact."""
    return os.urandom(16).hex()


def new_uuid() -> str:
    """Return a random UUID (version 4), for what clients keep: a task or a context."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
