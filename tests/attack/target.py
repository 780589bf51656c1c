"""A server under attack."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.requests import V1, rpc, say

ANN, BOB = "ann-0e1f6f0a6f0b4c1d9a7e5b3c", "bob-9b8a7c6d5e4f3a2b1c0d9e8f"
"""Tokens of the two users of the server with authentication."""

_SECONDS = 60


@dataclass
class Target:
    """A server in a separate process."""

    url: str
    pid: int

    @property
    def address(self) -> tuple[str, int]:
        """Its host and port."""
        url = httpx.URL(self.url)
        return url.host, url.port or 80

    def peak(self) -> int:
        """Return the peak memory of the process in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024

    def client(self, token: str = "", **headers: str) -> httpx.AsyncClient:
        """Return a new client for a caller."""
        known = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(
            base_url=self.url,
            timeout=_SECONDS,
            headers={**V1, **known, **headers},
            trust_env=False,
            verify=False,  # no TLS is used, and its context takes longer than a request
        )

    async def answers(self) -> bool:
        """Return whether a small message is answered."""
        async with self.client(BOB) as http:
            answer = await http.post("/", json=rpc("SendMessage", say("x")))
        return answer.status_code == 200 and "result" in answer.json()
