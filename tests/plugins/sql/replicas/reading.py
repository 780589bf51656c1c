"""Raw readers of streams of `timed` that record arrival times."""

from __future__ import annotations

import asyncio
import json
import re
import time
from urllib.parse import urlsplit
from uuid import uuid4

NUMBER = re.compile(rb"#(\d+) ")
TASK = re.compile(rb'"task":\{"id":"([^"]+)"')


class Stream:
    """A stream of a reader.

    Attributes:
        numbers: Arrival time in seconds by number.
        task_id: Task id, once `begun`.
    """

    def __init__(self):
        self.numbers = []
        self.task_id = ""
        self.begun = asyncio.Event()

    async def read(self, url, method, params):
        """Read to the end."""
        address = urlsplit(url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(request(address.netloc, method, params))
            left = b""
            while data := await reader.read(65536):
                left = self._take(left + data, time.monotonic())
        finally:
            writer.close()

    def _take(self, data, now):
        if not self.task_id and (found := TASK.search(data)):
            self.task_id = found[1].decode()
            self.begun.set()
        end = 0
        for found in NUMBER.finditer(data):
            self.numbers.append((int(found[1]), now))
            end = found.end()
        # A number or the task id may be incomplete.
        return data[max(end, len(data) - 100) :] if self.task_id else data

    def is_whole(self, chunks):
        """Return whether each number came once and in order."""
        return [number for number, _ in self.numbers] == list(range(chunks))


def request(host, method, params):
    """Return a request after which the server closes the connection."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    head = (
        f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"A2A-Version: 1.0\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def message(text, **configuration):
    """Return the parameters of a message."""
    parts = [{"text": text}]
    said = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": parts}
    return {"message": said, "configuration": configuration}
