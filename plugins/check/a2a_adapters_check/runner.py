"""Runs all checks of an agent within a time limit."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from a2a_adapters import RemoteAuthError, RemoteConnectionError, RemoteTimeoutError
from a2a_adapters.calling.auth import HeadersAuth
from a2a_adapters.calling.card import agent_url
from a2a_adapters.contract.text import quote
from a2a_adapters.plugin import check_arguments
from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters_check import (
    addresses,
    bindings,
    caching,
    capabilities,
    card,
    errors,
    generations,
    security,
    sending,
    signatures,
    speed,
    streaming,
    tasks,
    text,
    wire,
)
from a2a_adapters_check.http_client import make_http_client
from a2a_adapters_check.model import Check
from a2a_adapters_check.report import NEVER_SENT, Finding, Report, UncheckedError
from a2a_adapters_check.speed import measure
from a2a_adapters_check.subject import Subject

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    import httpx

    from a2a_adapters_check.http_client import Answer, HttpClient

__all__ = ["CHECKS", "check"]

_THEMES = (
    card,
    generations,
    addresses,
    text,
    signatures,
    caching,
    bindings,
    errors,
    capabilities,
    security,
    wire,
    sending,
    streaming,
    tasks,
    speed,
)

CHECKS: tuple[Check, ...] = tuple(
    each for theme in _THEMES for each in vars(theme).values() if isinstance(each, Check)
)
"""All checks, in the order of the report."""

_CARD_BYTES = 1024 * 1024
_CARD_SECONDS = 20.0
_MEASURING = 6.0
_NO_CARD = "the agent has no valid card"
_LATE = "the time limit was reached"


async def check(
    url: str,
    *,
    send: bool = False,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30,  # noqa: ASYNC109 - all of it ends then, with a report
    proxy: str | None = None,
    tls: ssl.SSLContext | None = None,
) -> Report:
    """Check whether an agent conforms to A2A and is secure.

    Changes nothing unless `send` is set: fetches the card, asks for unknown tasks, and sends
    requests that the agent should refuse. The agent may be hostile: responses are
    bounded, and the default `OutboundPolicy` limits calls to other hosts in its card.

    Args:
        url: URL of the agent or of its card.
        send: Whether to send messages, which the agent processes.
        headers: Credentials, sent to the origin of `url` only.
        timeout: Time limit of all checks, in seconds.
        proxy: The URL of the HTTP proxy, as `RemoteOptions.proxy`.
        tls: The TLS settings for HTTP; by default certificates are verified as httpx does.

    Returns:
        The report, most severe findings first.

    Raises:
        ConfigurationError: `url` is not a valid URL, or the proxy cannot be used.
        RemoteConnectionError: The agent cannot be reached.
        RemoteTimeoutError: The agent does not answer in time.
        RemoteAuthError: The card requires credentials, or the given ones are rejected.
    """
    check_arguments(check, locals(), {"timeout"})
    address = agent_url(url)
    auth = HeadersAuth(headers) if headers else None
    http = make_http_client(address, auth, timeout, proxy=proxy, tls=tls)
    try:
        return await examine(
            http, address, send=send, has_credentials=bool(headers), seconds=timeout
        )
    finally:
        await http.aclose()


async def examine(
    http: HttpClient, url: httpx.URL, *, send: bool, has_credentials: bool, seconds: float
) -> Report:
    """Run all checks with an HTTP client; see `check`."""
    began = time.monotonic()
    deadline = began + seconds
    try:
        async with asyncio.timeout(seconds):
            card_url, answer = await _card(http, url)
    except TimeoutError as error:
        raise RemoteTimeoutError(f"{url} did not send its card in time") from error
    subject = Subject(
        url, http, card_url, answer, deadline=deadline, has_credentials=has_credentials
    )
    try:
        return await _report(subject, began, send=send)
    finally:
        await subject.aclose()


async def _card(http: HttpClient, url: httpx.URL) -> tuple[str, Answer]:
    """Return the URL of the card and the response.

    Raises:
        RemoteConnectionError: The agent did not respond.
        RemoteAuthError: The card requires credentials.
    """
    base = str(url.copy_with(query=None, fragment=None)).rstrip("/")
    addresses = [str(url)]
    if not url.path.endswith(".json"):
        addresses = [base + path for path in WELL_KNOWN_PATHS]
    for address in addresses:
        answer = await http.ask("GET", address, max_bytes=_CARD_BYTES, seconds=_CARD_SECONDS)
        if answer.status != 404:
            break
    if answer.failure and not answer.is_answered:
        message = f"{address} cannot be reached: {quote(answer.failure)}"
        raise (RemoteTimeoutError if answer.is_late else RemoteConnectionError)(message)
    if answer.is_refused:
        raise RemoteAuthError(f"{address} requires credentials (HTTP {answer.status})")
    return address, answer


async def _report(subject: Subject, began: float, *, send: bool) -> Report:
    skipped: dict[str, str] = {}
    todo: list[Check] = []
    for each in CHECKS:
        if each.needs_card and not subject.has_card:
            skipped[each.id] = _NO_CARD
        elif each.sends and not send:
            skipped[each.id] = NEVER_SENT
        else:
            todo.append(each)
    with suppress(TimeoutError, UncheckedError):
        async with asyncio.timeout(min(_MEASURING, subject.seconds_left / 2)):
            await measure(subject)
    findings: list[Finding] = []
    passed: list[str] = []
    for is_last in (False, True):
        now = [each for each in todo if each.is_last is is_last]
        made = await asyncio.gather(*(_make(each, subject) for each in now))
        for each, found in zip(now, made, strict=True):
            if isinstance(found, str):
                skipped[each.id] = found
            elif found:
                findings += found
            else:
                passed.append(each.id)
    name = subject.card.get("name")
    return Report(
        url=str(subject.url),
        agent=quote(name, 100) if isinstance(name, str) else "",
        findings=tuple(sorted(findings, key=lambda each: -each.severity.rank)),
        passed=tuple(passed),
        skipped=skipped,
        figures=subject.figures,
        seconds=time.monotonic() - began,
        holds_text=subject.holds_text,
    )


async def _make(each: Check, subject: Subject) -> list[Finding] | str:
    """Return the findings of a check, or why it could not run."""
    try:
        async with asyncio.timeout(subject.seconds_left):
            return await each(subject)
    except TimeoutError:
        return _LATE
    except UncheckedError as reason:
        return str(reason)
