"""The examples run offline and check themselves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.warm import warm

EXAMPLES = Path(__file__).parents[3] / "examples"
PATHS = [*sorted(EXAMPLES.glob("mcp_*.py")), EXAMPLES / "travel" / "trip.py"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_examples_run_and_check_themselves(path):
    subprocess.run(warm(str(path)), check=True, timeout=250, stdin=subprocess.DEVNULL)
