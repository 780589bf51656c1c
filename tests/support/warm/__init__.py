"""Fast commands: forked from a process that has already imported the package.

A fresh interpreter imports for seconds. A command run here
is still a process with its own arguments, folder, environment, files, signals and exit
code; its children started with `sys.executable` are fast as well. Tests of
imports need a fresh interpreter, and each command of the package has such a test.
"""

from __future__ import annotations

import atexit
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

PID_FILE = "A2A_ADAPTERS_TESTS_PID_FILE"
"""Variable with the file to which a warm command writes its PID before it runs."""

_HERE = Path(__file__).parent
_RELAY = str(_HERE / "relay.py")
_SHARED = "A2A_ADAPTERS_TESTS_WARM"
"""Variable shared by all processes of a test run, with its environment and address."""
_PATIENCE = 240.0
"""Time limit in seconds for a command, before which the first one imports everything."""
_KEPT: list[object] = []
"""What forks of this process keep, although they forget what it does at its exit."""
_INTERPRETER = """#!/bin/sh
case "$1" in
-m|-W|*.py) exec {relay} "$@" ;;
*) exec {python} "$@" ;;
esac
"""


def warm(*arguments: str, prepared: str = "") -> list[str]:
    """Return a command that runs `-m module` or a script like a fresh interpreter.

    Args:
        *arguments: Arguments of the interpreter.
        prepared: A slow function without arguments to call once before forking, as
            `module:name`.
    """
    return [*_relay(_warmed(prepared)), *arguments]


def completed(
    *arguments: object,
    text: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `a2a-adapters` with these arguments and this input to its end, and return its output.

    It needs no relay, whose interpreter starts as long as most commands run.
    """
    words = [str(each) for each in arguments]
    order = [["-m", "a2a_adapters", *words], str(cwd or Path.cwd()), dict(env or os.environ)]
    body = json.dumps(order).encode()
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
        files[0].write(text)
        files[0].seek(0)
        with socket.socket(socket.AF_UNIX) as process:
            process.settimeout(_PATIENCE)
            process.connect(_warmed())
            socket.send_fds(process, [len(body).to_bytes(8)], [file.fileno() for file in files])
            process.sendall(body)
            report = process.makefile()
            _pid, code = int(report.readline()), int(report.readline())
        for file in files:
            file.seek(0)
        output, errors = (file.read() for file in files[1:])
    return subprocess.CompletedProcess(words, code, output, errors)


def is_warm(command: list[str]) -> bool:
    """Return whether `warm` returned the command."""
    return _RELAY in command


def share() -> None:
    """Let this process and its children share one warm process."""
    if not os.environ.get(_SHARED, "").startswith(f"{sys.prefix}{os.pathsep}"):
        os.environ[_SHARED] = f"{sys.prefix}{os.pathsep}{_address('')}"


def _warmed(prepared: str = "") -> str:
    """Return the address of a warm process: the shared one if it need not be prepared."""
    of, _, shared = os.environ.get(_SHARED, "").rpartition(os.pathsep)
    return shared if of == sys.prefix and not prepared else _address(prepared)


@cache
def _address(prepared: str) -> str:
    """Start a process that warms up with the first command; return its address.

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
    atexit.register(process.communicate)  # closes its input, which ends it
    _KEPT.extend((folder, process))
    return address


def _relay(address: str) -> list[str]:
    return [sys.executable, "-I", "-S", _RELAY, address]
