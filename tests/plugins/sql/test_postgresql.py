"""The PostgreSQL of the tests ends with them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.workers import RUN

HOLD = """
import time
from tests.support.postgresql import server
print(server().pgdata, server().get_pid(), flush=True)
time.sleep(600)
"""


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
