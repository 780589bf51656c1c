"""The example runs offline, over a real language model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PATIENCE

EXAMPLE = Path(__file__).parents[3] / "examples" / "router.py"


@pytest.mark.model
@pytest.mark.timeout(3 * PATIENCE)
def test_the_example_runs_and_checks_itself():
    done = subprocess.run(
        [sys.executable, EXAMPLE],
        check=True,
        timeout=2 * PATIENCE,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert "small at openai for $0.0000" in done.stdout
