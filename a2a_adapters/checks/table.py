"""All checks, in the order in which they are told."""

from __future__ import annotations

from a2a_adapters.checks import (
    addresses,
    bindings,
    caching,
    capabilities,
    card,
    errors,
    generations,
    reading,
    security,
    signatures,
    speed,
    text,
)
from a2a_adapters.checks.model import Check

_THEMES = (
    reading,
    card,
    generations,
    addresses,
    text,
    signatures,
    caching,
    bindings,
    errors,
    capabilities,
    security,
    speed,
)

CHECKS: tuple[Check, ...] = tuple(
    each for theme in _THEMES for each in vars(theme).values() if isinstance(each, Check)
)
"""Every check there is."""
