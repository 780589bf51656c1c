"""Making all checks of an agent, in the time that there is."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from a2a_adapters import RemoteAuthError, RemoteConnectionError, RemoteTimeoutError
from a2a_adapters.calling.auth import HeadersAuth
from a2a_adapters.calling.card import agent_url
from a2a_adapters.contract.text import quote
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
)
from a2a_adapters_check.http_client import make_http_client
from a2a_adapters_check.model import Check
from a2a_adapters_check.report import NEVER_SENT, Finding, Report, UncheckedError
from a2a_adapters_check.speed import measure
from a2a_adapters_check.subject import Subject

if TYPE_CHECKING:
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
    sending,
    streaming,
    tasks,
    speed,
)

CHECKS: tuple[Check, ...] = tuple(
    each for theme in _THEMES for each in vars(theme).values() if isinstance(each, Check)
)
"""Every check there is."""

_CARD_BYTES = 1024 * 1024
_CARD_SECONDS = 20.0
_MEASURING = 6.0
_NO_CARD = "there is no card that can be read"
_LATE = "the time was over"


async def check(
    url: str,
    *,
    send: bool = False,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30,  # noqa: ASYNC109 - all of it ends then, with a report
) -> Report:
    """Check whether an agent is a good citizen, and say what to mend.

    Nothing is changed at the agent unless `send` is set: it is asked for its card, for tasks that
    are nobody's, and by requests that it should refuse. It may be hostile: answers are
    bounded, and hosts that only its card names are called as the default `OutboundPolicy` allows.

    Args:
        url: The agent's address, or that of its card.
        send: Whether messages may be sent, which the agent works on.
        headers: Credentials, which only the origin of `url` gets.
        timeout: How many seconds all may take.

    Returns:
        The report; the findings are the worst first.

    Raises:
        ConfigurationError: `url` is no address.
        RemoteConnectionError: The agent cannot be reached.
        RemoteTimeoutError: It does not answer in time.
        RemoteAuthError: It wants credentials for its card, or other ones.
    """
    address = agent_url(url)
    http = make_http_client(address, HeadersAuth(headers) if headers else None, timeout)
    try:
        return await examine(
            http, address, send=send, has_credentials=bool(headers), seconds=timeout
        )
    finally:
        await http.aclose()


async def examine(
    http: HttpClient, url: httpx.URL, *, send: bool, has_credentials: bool, seconds: float
) -> Report:
    """Make all checks by a client; see `check`."""
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
    """Return where the card is, and what came back there.

    Raises:
        RemoteConnectionError: Nothing came back.
        RemoteAuthError: Credentials are wanted.
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
        raise RemoteAuthError(f"{address} wants credentials (HTTP {answer.status})")
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
    )


async def _make(each: Check, subject: Subject) -> list[Finding] | str:
    """Return what a check finds, or why it could not be made."""
    try:
        async with asyncio.timeout(subject.seconds_left):
            return await each(subject)
    except TimeoutError:
        return _LATE
    except UncheckedError as reason:
        return str(reason)
