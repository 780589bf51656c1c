"""Take the pictures of the command line in a real terminal: `run.py FOLDER`; needs tmux."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS, LINES = 106, 60
PROMPT = r"^\$ ?\s*\Z"
SECONDS = 60
# Without the fonts that rich would load from another site.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
FROZEN = {
    r"[0-9a-f]{8}-[0-9a-f-]{27}": "01a21d7f-99ae-7981-b45a-0d482c64e012",
    r"in [\d.]+ s; request latency [\d,]+ ms; time to first token [\d,]+ ms": (
        "in 0.2 s; request latency 1 ms; time to first token 14 ms"
    ),
}
"""What differs each time, and what the pictures show instead."""
URL, OTHER_URL = "http://127.0.0.1:8000", "http://127.0.0.1:8001"


class Terminal:
    """A terminal with a shell, whose screen can be read."""

    def __init__(self, folder: Path) -> None:
        self._tmux = ["tmux", "-L", f"pictures-{id(self)}"]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        # A user's own settings and conversations stay out of the pictures.
        shell = [
            "env",
            "-i",
            f"PATH={path}",
            f"HOME={folder}",
            "TERM=xterm-256color",
            "LANG=C.UTF-8",
        ]
        command = shlex.join([*shell, "PS1=$ ", "bash", "--norc"])
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        self._run("new-session", "-d", "-c", str(folder), *size, command)
        self.wait(PROMPT)

    def type(self, text: str) -> None:
        self._run("send-keys", "-l", text)
        self.press("Enter")

    def press(self, key: str) -> None:
        self._run("send-keys", key)

    def wait(self, pattern: str) -> None:
        """Wait until the screen matches a pattern."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if re.search(pattern, self._screen(), re.MULTILINE):
                return
            time.sleep(0.1)
        sys.exit(f"{self._screen()}\nthe terminal does not show {pattern}")

    def picture(self, file: Path) -> None:
        """Write the screen, without empty lines at its end, as a picture."""
        text = self._screen("-e").rstrip()
        for pattern, always in FROZEN.items():
            text = re.sub(pattern, always, text)
        screen = Text.from_ansi(text)
        console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
        console.print(screen, soft_wrap=True)
        file.write_text(console.export_svg(title="", code_format=FORMAT, unique_id=file.stem))

    def clear(self) -> None:
        self.press("C-l")
        self._run("clear-history")
        self.wait(r"\A\$ ?\s*\Z")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._run("kill-server")

    def _screen(self, *options: str) -> str:
        return self._run("capture-pane", "-p", *options)

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=True)
        return done.stdout


def main(pictures: Path) -> None:
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        shutil.copy(HERE / "agents.py", folder)
        with Terminal(folder) as server, Terminal(folder) as other, Terminal(folder) as client:
            server.type("a2a-adapters serve agents:travel")
            server.wait(rf"{URL}/console(?s:.*)Ctrl-C stops it")
            server.picture(pictures / "terminal-serve.svg")
            other.type("a2a-adapters serve agents:pushy --port 8001")
            other.wait(rf"{OTHER_URL}/console(?s:.*)Ctrl-C stops it")
            take(client, pictures)
    print(f"pictures of the command line are in {pictures}")


def take(terminal: Terminal, pictures: Path) -> None:
    """Take the pictures of the commands that call an agent."""
    terminal.type("a2a-adapters --help")
    terminal.wait(rf"help  .*\n(?s:.*){PROMPT}")
    terminal.picture(pictures / "terminal-help.svg")
    terminal.clear()
    terminal.type(f"a2a-adapters send {URL} 'When does a train leave?' --quiet")
    terminal.wait(rf"train.*\n(?s:.*){PROMPT}")
    terminal.picture(pictures / "terminal-send.svg")
    terminal.clear()
    terminal.type(f"a2a-adapters check {OTHER_URL} --send")
    terminal.wait(rf"error.*\n(?s:.*){PROMPT}")
    terminal.picture(pictures / "terminal-check.svg")
    terminal.clear()
    terminal.type(f"a2a-adapters chat {URL}")
    terminal.wait("type /help")
    terminal.type("Please book a train")
    terminal.wait("City")
    terminal.type("Oslo")
    terminal.wait("Nights")
    terminal.type("")
    terminal.wait("Booked")
    terminal.type("/quit")
    terminal.wait(rf"resume(?s:.*){PROMPT}")
    terminal.picture(pictures / "terminal-chat.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
