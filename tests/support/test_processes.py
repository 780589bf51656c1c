"""Test servers are read continuously and obey signals."""

from __future__ import annotations

import signal
import sys
import time

import psutil
import pytest

from tests.support.processes import PATIENCE, launched
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

SERVER = """
import sys, time
print("A2A agent at http://here/, as it says", file=sys.stderr)
print("line\\n" * 100_000 + "last", file=sys.stderr, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=["cold", "warm"])
def server(request, tmp_path):
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    command = [sys.executable, script] if request.param == "cold" else warm(str(script))
    with launched(command) as (server, url):
        assert url == "http://here"
        yield server


def test_a_killed_command_has_ended_with_its_server(server):
    command = psutil.Process(server.command_pid)
    server.kill()
    assert server.wait(PATIENCE) == -signal.SIGKILL
    assert not command.is_running()


def test_the_command_itself_is_suspended(server):
    command = psutil.Process(server.command_pid)
    server.send_signal(signal.SIGSTOP)
    while command.status() != psutil.STATUS_STOPPED:
        time.sleep(0.01)
    server.send_signal(signal.SIGCONT)
    while command.status() == psutil.STATUS_STOPPED:
        time.sleep(0.01)


def test_a_long_log_stops_no_server(server):
    assert server.said("last")
    server.kill()
    assert server.ended().count("line") == 100_000


def test_ctrl_c_works_when_tests_run_in_the_background(server):
    server.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in server.ended()


def test_a_missing_line_reports_the_log(server):
    server.kill()
    with pytest.raises(AssertionError, match="A2A agent at"):
        server.said("something else")
