"""Sums of what the calls in a history cost."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_KEYS = ("owner", "team", "model", "provider", "outcome", "day")
_SUMMED = ("input_tokens", "output_tokens", "seconds", "usd")


def sums(
    decisions: Iterable[Mapping[str, Any]], by: Sequence[str], teams: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Return rows of calls, tokens, seconds and USD, the dearest first.

    Args:
        decisions: Lines of the history.
        by: What each row is about: owner, team, model, provider, outcome or day.
        teams: The owners of each team. The calls of an owner count for each of their teams.

    Raises:
        ValueError: There is no such key.
    """
    if unknown := [key for key in by if key not in _KEYS]:
        raise ValueError(f"cannot sum by {', '.join(map(repr, unknown))}: use {', '.join(_KEYS)}")
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for decision in decisions:
        owner = decision["owner"]
        of_owner = [name for name, members in teams.items() if owner in members]
        for call in decision["calls"]:
            about = {**call, "owner": owner, "day": decision["time"][:10]}
            values = [(of_owner or [""]) if key == "team" else [about[key]] for key in by]
            for names in product(*values):
                empty = {**dict(zip(by, names, strict=True)), "calls": 0, "failed": 0}
                row = rows.setdefault(names, {**empty, **dict.fromkeys(_SUMMED, 0)})
                row["calls"] += 1
                row["failed"] += call["outcome"] == "failed"
                for key in _SUMMED:
                    row[key] += call[key]
    return sorted(rows.values(), key=lambda row: -row["usd"])
