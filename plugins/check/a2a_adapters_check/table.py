"""All checks, in the order in which they are told."""

from __future__ import annotations

from a2a_adapters_check import (
    addresses,
    bindings,
    caching,
    capabilities,
    card,
    errors,
    generations,
    grpc_binding,
    reading,
    security,
    sending,
    signatures,
    speed,
    streaming,
    tasks,
    text,
)
from a2a_adapters_check.model import Check

_THEMES = (
    reading,
    card,
    generations,
    addresses,
    text,
    signatures,
    caching,
    bindings,
    grpc_binding,
    errors,
    capabilities,
    security,
    sending,
    streaming,
    tasks,
    speed,
)

CHECKS: tuple[Check, ...] = tuple(
    each for theme in _THEMES for each in vars(theme).values() if isinstance(each, Check)
)
"""Every check there is."""
