"""Attack a server and print the results: `python -m tests.attack [CALLERS]`."""

from __future__ import annotations

import asyncio
import sys

from tests.attack.run import HEAD, Row, as_text, attack


def tell(row: Row) -> None:
    """Print one line of the table."""
    print(as_text(row), flush=True)


if __name__ == "__main__":
    print(HEAD, flush=True)
    found = asyncio.run(attack(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 5, tell))
    sys.exit(any(row.findings for row in found))
