"""Tests without their program are skipped, as reported at the end of the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import PATIENCE

ROOT = Path(__file__).parents[2]
CONFTEST = "from tests.conftest import pytest_terminal_summary\n"
TESTS = """
import pytest
from tests.support.programs import needed

@pytest.mark.parametrize("number", range(3))
def test_with(number):
    needed(PROGRAM, "no-such-program")

def test_left_out_for_another_reason():
    pytest.skip("it is Tuesday")
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_summary_lists_missing_programs(tmp_path, workers):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS.replace("PROGRAM", "'some-package'"))
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    environment = {**kept, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "."],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    left_out = [line for line in done.stdout.splitlines() if "left out" in line]
    assert left_out == ["3 tests were left out; to include them: apt-get install some-package"], (
        done.stdout
    )
