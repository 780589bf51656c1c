"""Commands on a terminal of their own."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
from contextlib import contextmanager

from tests.support.processes import PATIENCE
from tests.support.warm import warm


class Terminal:
    """A command and the terminal on which it runs."""

    def __init__(self, arguments, columns, **variables):
        self._leader, follower = pty.openpty()
        environment = {**os.environ, "COLUMNS": str(columns), "TERM": "dumb", "NO_COLOR": "1"}
        environment |= variables
        command = warm("-m", "a2a_adapters", *arguments)
        self.process = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, env=environment
        )
        os.close(follower)
        self.shown = ""
        self._place = 0

    def type(self, text):
        """Type characters."""
        os.write(self._leader, text.encode())

    def said(self, pattern):
        """Wait for a pattern after the last one found; return the match."""
        while not (found := re.compile(pattern).search(self.shown, self._place)):
            assert self._read(), f"{pattern!r} is missing in {self.shown}"
        self._place = found.end()
        return found

    def ended(self):
        """Wait for the command's end and return all it has shown."""
        while self._read():
            pass
        self.exit_code = self.process.wait(timeout=PATIENCE)
        return self.shown

    def _read(self):
        assert select.select([self._leader], [], [], PATIENCE)[0], f"waited in vain: {self.shown}"
        try:
            chunk = os.read(self._leader, 65536)
        except OSError:  # how Linux reports that the other side is closed
            return False
        self.shown += chunk.decode(errors="replace").replace("\r\n", "\n")
        return bool(chunk)

    def close(self):
        """End the command."""
        self.process.kill()
        self.process.wait()
        os.close(self._leader)


@contextmanager
def on_terminal(*arguments, columns=200, **variables):
    """Run the command line on a terminal, with additional environment variables."""
    terminal = Terminal(arguments, columns, **variables)
    try:
        yield terminal
    finally:
        terminal.close()
