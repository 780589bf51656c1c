"""Checks of requests that a proxy in front may understand differently than the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.subject import Subject

_STRANGER = "Host: stranger.example"
_EMPTY = b"0\r\n\r\n"


@check(
    "wire.host",
    Severity.WARNING,
    clause="RFC 9112, 3.2",
    remedy="Answer 400 to a request with several Host headers or an invalid one, or let the proxy "
    "do so.",
)
async def hosts(subject: Subject) -> AsyncIterator[Fault]:
    """Requests with several hosts or an invalid one are refused."""
    host = _host(subject)
    if _status(await subject.http.raw(subject.card_url, [host])) != httpx.codes.OK:
        return
    attempts = {
        "two Host headers": [host, _STRANGER],
        "an invalid Host header": ["Host: [127.0.0.1"],
    }
    for what, lines in attempts.items():
        if _status(await subject.http.raw(subject.card_url, lines)) == httpx.codes.OK:
            yield Fault(f"a request with {what} is answered", subject.card_url)


@check(
    "wire.length",
    Severity.WARNING,
    clause="RFC 9112, 6.1",
    remedy="Answer 400 to a request with several Transfer-Encodings, or with one and a "
    "Content-Length, and close the connection, or let the proxy do so.",
)
async def lengths(subject: Subject) -> AsyncIterator[Fault]:
    """Requests with a body of ambiguous length are refused."""
    host = _host(subject)
    chunked = "Transfer-Encoding: chunked"
    attempts = {
        "two Transfer-Encodings": [host, "Transfer-Encoding: identity", chunked],
        "a Content-Length and a Transfer-Encoding": [host, "Content-Length: 5", chunked],
    }
    for what, lines in attempts.items():
        head = await subject.http.raw(subject.card_url, lines, _EMPTY)
        if _status(head) == httpx.codes.OK and b"connection: close" not in head.lower():
            yield Fault(f"a request with {what} is answered", subject.card_url)


def _host(subject: Subject) -> str:
    return f"Host: {httpx.URL(subject.card_url).netloc.decode('ascii')}"


def _status(head: bytes) -> int:
    """Return the status of a response, 0 without one."""
    words = head.split(b" ", 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
