"""Warm processes behave like fresh interpreters; test servers are read and obey signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from tests.support.processes import PATIENCE, launched
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

SCRIPT = """
import os, sys, time
print(__name__, sys.argv[1:], os.getcwd(), os.environ.get("WARM"), sys.stdin.read(), flush=True)
match sys.argv[1:]:
    case ["end"]:
        sys.exit(7)
    case ["fail"]:
        raise RuntimeError("why")
    case ["wait"]:
        time.sleep(600)
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    return lambda *options: subprocess.Popen(
        warm("script.py", *options),
        cwd=tmp_path,
        env={**os.environ, "WARM": "yes"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("how", "code", "error"), [("end", 7, ""), ("fail", 1, "Error: why\n")])
def test_a_script_has_its_surroundings_and_its_exit_code(script, tmp_path, how, code, error):
    process = script(how)
    output, errors = process.communicate("said", timeout=PATIENCE)
    assert output == f"__main__ ['{how}'] {tmp_path} yes said\n"
    assert process.returncode == code
    assert errors.endswith(error)
    assert bool(errors) == bool(error)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_script_itself(script, sent):
    process = script("wait")
    process.stdin.close()
    process.stdin = None
    assert process.stdout.readline()
    process.send_signal(sent)
    process.communicate(timeout=PATIENCE)  # all its files are closed: nothing is running
    assert process.returncode == -sent


LAST = """
import atexit, socket, threading, warnings
warnings.simplefilter("always")
atexit.register(print, "at the end")
threading.Thread(target=lambda: (threading.main_thread().join(), print("in a thread"))).start()
left_open = socket.socket()
"""


def test_exit_handlers_run_and_leaks_are_reported(tmp_path):
    (tmp_path / "last.py").write_text(LAST)
    done = subprocess.run(warm("last.py"), cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "in a thread\nat the end\n"
    assert "ResourceWarning: unclosed <socket" in done.stderr


PARENT = """
import subprocess, sys
for arguments in (["child.py", "of a script"], ["-c", "print('fresh')"]):
    subprocess.run([sys.executable, *arguments], check=True)
"""
CHILD = """
import sys
print(*sys.argv[1:], "a2a_adapters.serving.app" in sys.modules)
"""


def test_child_processes_start_warm(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "child.py").write_text(CHILD)
    command = warm("-W", "error", "parent.py")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "of a script True\nfresh\n"


def test_scripts_killed_at_startup_do_not_affect_others(script):
    for delay in range(40):
        process = script("wait")
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay / 400)  # before, while and after its process is forked
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert script("end").communicate("said", timeout=PATIENCE)[0].endswith("yes said\n")


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
