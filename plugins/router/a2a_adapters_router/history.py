"""The history of routing decisions and what they cost: one JSON Lines file a day."""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters_router.config import HistoryConfig

logger = logging.getLogger(__name__)


class History:
    """Appends decisions to the file of the day, and deletes files that are too old.

    Several processes may write to one folder: each line is one write to the end of the file.

    Args:
        config: The folder, and how many days its files are kept.
    """

    def __init__(self, config: HistoryConfig) -> None:
        self._folder = Path(config.folder)
        self._days = config.days
        self._cleaned = date.min

    def add(self, decision: dict[str, Any]) -> None:
        """Append a decision. An error of the file system is logged: the answer goes on."""
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
        """Delete the files of days that are no longer kept, once a day."""
        if today == self._cleaned:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        for day, file in _files(self._folder):
            if day <= today - timedelta(days=self._days):
                file.unlink(missing_ok=True)
        self._cleaned = today

    def read(self, since: datetime) -> Iterator[dict[str, Any]]:
        """Yield the decisions since a time, oldest day first.

        A line that a crash or a full disk cut short is left out.

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
