"""Media types as RFC 9110, section 8.3.1 compares them: without case and parameters."""

from __future__ import annotations

ANY = "*/*"


def overlap(one: str, other: str) -> bool:
    """Tell whether something can be of both media types; `*` stands for any type or subtype."""
    (kind, subtype), (other_kind, other_subtype) = _essence(one), _essence(other)
    return _same(kind, other_kind) and _same(subtype, other_subtype)


def _essence(media_type: str) -> tuple[str, str]:
    kind, _, subtype = media_type.partition(";")[0].strip().lower().partition("/")
    return kind, subtype


def _same(one: str, other: str) -> bool:
    return one == other or "*" in (one, other)
