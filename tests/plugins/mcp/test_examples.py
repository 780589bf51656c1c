"""The examples run offline and check themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
PATHS = [*sorted(EXAMPLES.glob("mcp_*.py")), EXAMPLES / "travel" / "trip.py"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_examples_run_and_check_themselves(path):
    subprocess.run([sys.executable, path], check=True, timeout=250, stdin=subprocess.DEVNULL)
