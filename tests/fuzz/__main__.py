"""Send 10,000 malformed requests and print the results: `python -m tests.fuzz [COUNT]`."""

from __future__ import annotations

import json
import sys

from tests.fuzz.run import fuzz

if __name__ == "__main__":
    print(json.dumps(fuzz(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000), indent=2))
