"""A real Redis for tests: one for each process of a test run, on a socket of its own."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

BINARY = shutil.which("redis-server")


@cache
def redis_url():
    """Return the address of the server, which ends with this process."""
    if BINARY is None:
        reason = "there is no redis-server: apt-get install redis-server"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="a2a-redis-"))
    socket = folder / "socket"
    options = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
    server = subprocess.Popen([BINARY, *options], stdout=subprocess.PIPE)
    atexit.register(_end, server, folder)
    while b"ready to accept" not in server.stdout.readline().lower():
        assert server.poll() is None
    return f"unix://{socket}"


def _end(server, folder):
    server.kill()
    server.communicate()
    shutil.rmtree(folder)
