"""Test servers are read continuously and obey signals."""

from __future__ import annotations

import signal
import sys

import pytest

from tests.support.processes import launched

pytestmark = pytest.mark.timeout(5 * 60)

SERVER = """
import sys, time
print("A2A agent at http://here/, as it says", file=sys.stderr)
print("line\\n" * 100_000 + "last", file=sys.stderr, flush=True)
time.sleep(600)
"""


@pytest.fixture
def server():
    with launched([sys.executable, "-c", SERVER]) as (server, url):
        assert url == "http://here"
        yield server


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
