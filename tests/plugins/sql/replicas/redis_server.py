"""A real Redis per process of a test run, on its own socket."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tests.support.programs import needed


@cache
def redis_url():
    """Return the URL of the server, which ends with this process."""
    binary = needed("redis-server")
    folder = Path(tempfile.mkdtemp(prefix="a2a-redis-"))
    socket = folder / "socket"
    options = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
    server = subprocess.Popen([binary, *options], stdout=subprocess.PIPE)
    atexit.register(_end, server, folder)
    while b"ready to accept" not in server.stdout.readline().lower():
        assert server.poll() is None
    return f"unix://{socket}"


def _end(server, folder):
    server.kill()
    server.communicate()
    shutil.rmtree(folder)
