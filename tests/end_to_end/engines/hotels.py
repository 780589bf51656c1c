"""The remote agent that workflows call as a step; it logs each run."""

from __future__ import annotations

import sys
from pathlib import Path

from a2a_adapters import serve
from tests.end_to_end.engines.journal import note

WORK = Path(sys.argv[1])


async def hotels(text: str) -> str:
    """Find a hotel."""
    note(WORK, "hotel", text)
    return f"Hotel {text}"


if __name__ == "__main__":
    serve(hotels, port=0)
