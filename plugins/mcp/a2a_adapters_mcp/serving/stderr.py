"""Logs the standard error output of MCP servers that run as child processes."""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from a2a_adapters.dialects import quote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

_CHUNK = 4096
_LINE_LENGTH = 500
_LINES_PER_MINUTE = 200

logger = logging.getLogger(__name__)


@contextmanager
def logged_output(server: str) -> Iterator[TextIO]:
    """Yield a file whose lines are logged as those of a server.

    The lines are untrusted: each becomes a record of its own, without control characters and of
    limited length, and only a limited number per minute is logged.
    """
    reader, writer = os.pipe()
    # A thread, because the pipe stays open as long as any descendant of the server runs.
    threading.Thread(target=_log_lines, args=(reader, server), daemon=True).start()
    with os.fdopen(writer, "w") as output:
        yield output


def _log_lines(reader: int, server: str) -> None:
    minute, count = 0, 0
    with os.fdopen(reader, "rb") as lines:
        while line := lines.readline(_CHUNK):
            text = quote(line.decode(errors="replace"), _LINE_LENGTH)
            if minute != (minute := int(time.monotonic() // 60)):
                count = 0
            count += 1
            if count < _LINES_PER_MINUTE and text:
                logger.info("%s: %s", server, text)
            elif count == _LINES_PER_MINUTE:
                logger.warning("%s: further lines of this minute are left out", server)
