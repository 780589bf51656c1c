"""Forked workers report what happens in tests, and the PostgreSQL of the tests ends with them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.workers import RUN

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

HOLD = """
import time
from tests.support.postgresql import server
print(server().pgdata, server().get_pid(), flush=True)
time.sleep(600)
"""


def test_workers_report_failures_deaths_and_skips(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.workers"]
    command += ["--workers", "2", "-rs", "-c", tmp_path / "pytest.ini", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    for said in ("shown of worker-", "died with exit code 3", "no need", "assert (1 + 1) == 3"):
        assert said in done.stdout, done.stdout
    assert "not shown" not in done.stdout
    assert "2 failed, 1 passed, 1 skipped" in done.stdout


@pytest.mark.thorough
def test_a_killed_test_run_leaves_no_server_behind(monkeypatch):
    monkeypatch.delenv(RUN, raising=False)
    run = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    folder, pid = run.stdout.readline().split()
    assert psutil.pid_exists(int(pid))
    run.kill()
    run.communicate()
    while psutil.pid_exists(int(pid)) or Path(folder).exists():
        time.sleep(0.05)
