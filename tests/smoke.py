"""Installs a wheel into a new environment, serves a function with it, and sends a message.

    python tests/smoke.py dist

Needs nothing but Python, so that CI can run it on every system.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

AGENT = '''
def greet(text: str) -> str:
    """Greet the sender."""
    return f"Hello, {text}!"
'''


def main(folder: Path) -> None:
    [wheel] = folder.resolve().glob("*.whl")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        home = Path(name)
        venv.create(home / "venv", with_pip=True)
        scripts = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
        run(scripts / "python", "-m", "pip", "install", "--quiet", wheel)
        greet(scripts / "a2a-adapters", home)
    print(f"{wheel.name} works with Python {sys.version.split()[0]} on {sys.platform}")


def greet(command: Path, folder: Path) -> None:
    """Serve a function and send it a message, by the commands of the quickstart."""
    (folder / "app.py").write_text(AGENT)
    serving = [command, "serve", "app:greet", "--port", "0"]
    with subprocess.Popen(serving, cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            url = address(server.stderr)
            answer = run(command, "send", url, "Ann")
        finally:
            server.terminate()
    assert "Hello, Ann!" in answer.splitlines(), answer


def address(log: object) -> str:
    """Return the address that a server logs once it listens."""
    lines = []
    for line in log:
        lines.append(line)
        if found := re.search(r"A2A agent at (\S+),", line):
            return found[1]
    raise SystemExit("the server did not start:\n" + "".join(lines))


def run(*command: object) -> str:
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=300
    ).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
