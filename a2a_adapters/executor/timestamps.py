"""When messages and artifacts were made, for callers that ask for it.

See extensions/timestamp/v1/spec.md of the repository a2aproject/a2a-samples.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from a2a_adapters.contract.events import TIMESTAMP_EXTENSION

if TYPE_CHECKING:
    from a2a.types import Artifact, Message

_KEY = f"{TIMESTAMP_EXTENSION.removeprefix('https://')}/timestamp"


def now() -> str:
    """Return this moment in UTC, as RFC 3339 has it."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def stamp(made: Message | Artifact, moment: str) -> None:
    """Say when a message or an artifact was made."""
    made.metadata[_KEY] = moment
    made.extensions.append(TIMESTAMP_EXTENSION)
