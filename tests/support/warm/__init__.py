"""Commands that start at once: forked from a process that has imported the package already.

A fresh interpreter imports for seconds what a test of a command needs for an instant. What runs
here is a process all the same, with the arguments, folder, environment, files, signals and exit
code of the command; what that starts by `sys.executable` starts at once as well. Tests of what is
imported need a fresh interpreter, and each command of the package has a test with one.
"""

from __future__ import annotations

import atexit
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
_SHARED = "A2A_ADAPTERS_TESTS_WARM"
"""Names the environment that all processes of a test run are of, and where its commands go."""
_INTERPRETER = """#!/bin/sh
case "$1" in
-m|-W|*.py) exec {relay} "$@" ;;
*) exec {python} "$@" ;;
esac
"""


def warm(*arguments: str, prepared: str = "") -> list[str]:
    """Return the command that runs `-m module` or a script as a fresh interpreter would.

    Args:
        *arguments: Those of the interpreter.
        prepared: What the process calls once, before it is forked for these commands, because it
            takes long: a function without arguments, as `module:name`.
    """
    of, _, shared = os.environ.get(_SHARED, "").rpartition(os.pathsep)
    address = shared if of == sys.prefix and not prepared else _address(prepared)
    return [*_relay(address), *arguments]


def share() -> None:
    """Have this process and those it starts in this environment share one warm process."""
    if not os.environ.get(_SHARED, "").startswith(f"{sys.prefix}{os.pathsep}"):
        os.environ[_SHARED] = f"{sys.prefix}{os.pathsep}{_address('')}"


@cache
def _address(prepared: str) -> str:
    """Start a process that gets warm with the first command, and return how it is reached.

    It ends with this one.
    """
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    address = str(Path(folder.name) / "warm")
    interpreter = Path(folder.name) / "python"
    interpreter.write_text(
        _INTERPRETER.format(relay=shlex.join(_relay(address)), python=shlex.quote(sys.executable))
    )
    interpreter.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, _HERE / "process.py", str(listener.fileno()), interpreter, prepared],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    atexit.register(process.communicate)  # closes its input, upon which it ends
    return address


def _relay(address: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(_HERE / "relay.py"), address]
