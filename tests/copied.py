"""Runs the shell blocks of the README and the quickstart as a reader copies them.

    python tests/copied.py dist

Each page gets a new environment, in which pip finds the wheel in `dist`. A block that
serves runs in a separate shell until the page ends; other blocks must print the `text` block that
follows them. Blocks with a title are files. Only the port differs from the pages. Needs git, make
and a POSIX shell.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "docs" / "quickstart.md"]
BLOCK = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$'
    r"(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
PORT = "8000"
START_SECONDS = 60
COMMAND_SECONDS = 1200


class Reader:
    """Follows one page in a new folder and environment."""

    def __init__(self, folder: Path, wheels: Path, stack: ExitStack) -> None:
        venv.create(folder / "venv", with_pip=True)
        self._folder = folder
        self._port = str(free_port())
        self._stack = stack
        self._environment = {
            **os.environ,
            "A2A_ADAPTERS_PORT": self._port,
            "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PIP_FIND_LINKS": str(wheels),
            "PIP_QUIET": "1",
        }

    def follow(self, page: Path) -> None:
        for block in BLOCK.finditer(page.read_text()):
            body = block["body"].replace(PORT, self._port)
            if block["title"]:
                self._write(self._folder / block["title"], body)
            elif block["language"] == "sh":
                sys.stdout.write(f"{page.name}: {body}")
                sys.stdout.flush()
                self._paste(body, (block["output"] or "").replace(PORT, self._port))

    def _write(self, file: Path, text: str) -> None:
        """Write a file; a file that a command has written must have this content."""
        if file.exists():
            assert file.read_text() == text, file
        file.write_text(text)

    def _paste(self, body: str, expected: str) -> None:
        if re.search(r"^a2a-adapters serve\b", body, re.MULTILINE):
            self._serve(body)
            return
        body = body.replace("make test\n", "")  # it runs what calls this
        folder = self._clone() if "make " in body else self._folder
        lines = expected.splitlines()
        typed = "".join(f"{line[2:]}\n" for line in lines if line.startswith("> "))
        done = subprocess.run(
            ["sh", "-e", "-c", body],
            cwd=folder,
            env=self._environment,
            input=typed,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=COMMAND_SECONDS,
        )
        for line in lines:
            assert line.startswith("> ") or line in done.stdout, f"no {line!r} in:\n{done.stdout}"

    def _serve(self, body: str) -> None:
        server = subprocess.Popen(
            ["sh", "-e", "-c", body],
            cwd=self._folder,
            env=self._environment,
            start_new_session=True,  # a signal reaches the shell and its command
        )
        self._stack.callback(server.wait)
        self._stack.callback(os.killpg, server.pid, signal.SIGTERM)
        deadline = time.monotonic() + START_SECONDS
        while server.poll() is None and time.monotonic() < deadline:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", int(self._port))) == 0:
                    return
            time.sleep(0.1)
        raise SystemExit("the server did not start")

    def _clone(self) -> Path:
        clone = self._folder / "clone"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        return clone


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main(folder: Path) -> None:
    for page in PAGES:
        with ExitStack() as stack:
            home = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            Reader(Path(home), folder.resolve(), stack).follow(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
