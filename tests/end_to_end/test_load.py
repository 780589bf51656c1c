"""A small `make load`: many concurrent streams and a stalled reader."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_many_streams_at_once():
    command = [sys.executable, "benchmarks/streams.py", "--streams", "60", "--chunks", "50"]
    done = subprocess.run(
        [*command, "--rounds", "2"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "every chunk received once and in order: yes" in done.stdout
    assert "the task of the stalled reader: completed" in done.stdout
