"""History of routing decisions and costs in JSON Lines files, one per day."""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, date, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from a2a_adapters_router.config import HistoryConfig

logger = logging.getLogger(__name__)

_KEYS = ("owner", "team", "model", "provider", "outcome", "day")
_SUMMED = ("input_tokens", "output_tokens", "seconds", "usd")


class History:
    """Appends decisions to the day's file, and deletes expired files.

    Several processes may share a folder: each line is appended by a single write.

    Args:
        config: The folder and the days to keep files.
    """

    def __init__(self, config: HistoryConfig) -> None:
        self._folder = Path(config.folder)
        self._days = config.days
        self._cleaned = date.min

    def add(self, decision: dict[str, Any]) -> None:
        """Append a decision; file system errors are logged and do not affect the answer."""
        now = datetime.now(UTC)
        line = {"time": now.isoformat(timespec="milliseconds"), **decision}
        try:
            self._clean(now.date())
            flags = os.O_APPEND | os.O_CREAT | os.O_WRONLY
            file = os.open(self._folder / f"{now:%Y-%m-%d}.jsonl", flags, 0o600)
            try:
                os.write(file, json.dumps(line, ensure_ascii=False).encode() + b"\n")
            finally:
                os.close(file)
        except OSError as error:
            reason = f"{type(error).__name__}: {error.strerror}"
            logger.error("cannot write the history in %s: %s", self._folder, reason)  # noqa: TRY400

    def _clean(self, today: date) -> None:
        """Delete expired files, once a day."""
        if today == self._cleaned:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        for day, file in _files(self._folder):
            if day <= today - timedelta(days=self._days):
                file.unlink(missing_ok=True)
        self._cleaned = today

    def read(self, since: datetime) -> Iterator[dict[str, Any]]:
        """Yield the decisions since a time, oldest day first.

        Lines truncated by a crash or a full disk are skipped.

        Raises:
            OSError: A file cannot be read.
        """
        for day, file in sorted(_files(self._folder)):
            if day < since.date():
                continue
            for line in file.read_bytes().splitlines():
                try:
                    decision = json.loads(line)
                    is_wanted = datetime.fromisoformat(decision["time"]) >= since
                except (ValueError, KeyError, TypeError):
                    continue
                if is_wanted:
                    yield decision


def _files(folder: Path) -> Iterator[tuple[date, Path]]:
    for file in folder.glob("????-??-??.jsonl"):
        try:
            yield date.fromisoformat(file.stem), file
        except ValueError:
            continue


def sums(
    decisions: Iterable[Mapping[str, Any]], by: Sequence[str], teams: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Return rows of calls, tokens, seconds and USD, most expensive first.

    Args:
        decisions: Lines of the history.
        by: Keys to group by: owner, team, model, provider, outcome or day.
        teams: Owners by team. A call counts for each team of its owner.

    Raises:
        ValueError: A key is unknown.
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
