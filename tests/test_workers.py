"""Tests that run in forked workers report what happens in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = {
    "test_failing.py": """
def test_passes(tmp_path):
    print("not shown")

def test_fails(tmp_path):
    print("shown of", tmp_path.parent.name)
    assert 1 + 1 == 3
""",
    "test_dying.py": """
import os

def test_dies():
    os._exit(3)
""",
    "test_skipped.py": """
import pytest

@pytest.mark.skip(reason="no need")
def test_skips():
    pass
""",
}


def test_workers_report_failures_deaths_and_skips(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.workers"]
    command += ["--workers", "2", "-rs", "-c", tmp_path / "pytest.ini", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    for said in ("shown of worker-", "died with exit code 3", "no need", "assert (1 + 1) == 3"):
        assert said in done.stdout
    assert "not shown" not in done.stdout
    assert "2 failed, 1 passed, 1 skipped" in done.stdout
