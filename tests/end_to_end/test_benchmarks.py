"""Small versions of `make structure` and `make load`: returns to files, many streams at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
MOST_RETURNS = {
    "`SendMessage` to a function": 67,
    "`SendMessage` to a graph": 140,
    "a stream of two chunks": 96,
    "`A2AChatModel.ainvoke`": 69,
}


def test_messages_return_to_no_more_files():
    command = [sys.executable, ROOT / "benchmarks" / "way.py"]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| (.+?) \| \d+ \| \d+ \| (\d+) \|$", table, re.MULTILINE)
    returns = {name: int(count) for name, count in rows}
    assert returns.keys() == MOST_RETURNS.keys()
    assert {name: n for name, n in returns.items() if n > MOST_RETURNS[name]} == {}


@pytest.mark.timeout(300)
def test_many_streams_at_once():
    command = [sys.executable, "benchmarks/streams.py", "--streams", "60", "--chunks", "50"]
    done = subprocess.run(
        [*command, "--rounds", "2"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "every chunk received once and in order: yes" in done.stdout
    assert "the task of the stalled reader: completed" in done.stdout
