"""Checks of the card's signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from a2a_adapters.net.addresses import Reach
from a2a_adapters_check.addresses import host_reach
from a2a_adapters_check.http_client import as_json
from a2a_adapters_check.jws import is_signed, key_of, proves, signatures
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity, UncheckedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from jwt import PyJWK

    from a2a_adapters_check.http_client import Answer
    from a2a_adapters_check.subject import Subject


@check(
    "signature.form",
    Severity.ERROR,
    clause="A2A 1.0.1, 8.4.2",
    remedy="Sign with an algorithm such as ES256; put alg and kid in the protected header.",
)
async def form(subject: Subject) -> AsyncIterator[Fault]:
    """Signatures name their key and algorithm."""
    for signature, header, where in _signatures(subject):
        if header is None or not isinstance(signature.get("signature"), str):
            yield Fault("the signature is not a JSON Web Signature", where)
        elif not proves(header):
            yield Fault(f"the algorithm {header.get('alg')!r} is symmetric or unknown", where)
        elif not header.get("kid"):
            yield Fault("the signature does not name its key (kid)", where)


@check(
    "signature.key-address",
    Severity.WARNING,
    clause="A2A 1.0.1, 8.4.3",
    remedy="Publish the key set at an https URL.",
)
async def key_address(subject: Subject) -> AsyncIterator[Fault]:
    """Signing keys are fetched over https."""
    for _, header, where in _signatures(subject):
        url = (header or {}).get("jku")
        if isinstance(url, str) and _is_open(url):
            yield Fault(f"the key is fetched from {url}", where)


@check(
    "signature.key",
    Severity.ERROR,
    clause="A2A 1.0.1, 8.4.3",
    remedy="Serve a JSON Web Key Set with the key's kid at the URL in jku.",
)
async def key(subject: Subject) -> AsyncIterator[Fault]:
    """Signing keys are available at the stated URL."""
    for _, header, where in _signatures(subject):
        if header and isinstance(url := header.get("jku"), str):
            answer = await _key_set(subject, url)
            if answer.is_forbidden:
                continue
            if not isinstance(answer.json, dict) or not isinstance(answer.json.get("keys"), list):
                reason = answer.failure or f"HTTP {answer.status}"
                yield Fault(f"no key set at {url}: {reason}", where)
            elif _key_of(answer, header) is None:
                yield Fault(f"the key set at {url} has no key {header.get('kid')!r}", where)


@check(
    "signature.valid",
    Severity.ERROR,
    clause="A2A 1.0.1, 8.4.3",
    remedy="Sign the card after its last change, and publish the signing key.",
)
async def valid(subject: Subject) -> AsyncIterator[Fault]:
    """Signatures match the card."""
    for signature, header, where in _signatures(subject):
        if not header or not proves(header):
            continue
        if isinstance(url := header.get("jku"), str):
            found = _key_of(await _key_set(subject, url), header)
            if found is not None and not _is_valid(subject, signature, header, found):
                yield Fault("the signature does not match this card and key", where)


def _signatures(
    subject: Subject,
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None, str]]:
    """Yield the signatures with their protected headers and JSON pointers."""
    for index, each, header in signatures(subject.card):
        yield each, header, f"/signatures/{index}"


def _is_open(url: str) -> bool:
    """Return whether a URL is public and unencrypted; another check reports invalid URLs."""
    try:
        parsed = httpx.URL(url)
        return parsed.scheme != "https" and host_reach(parsed.host) is Reach.PUBLIC
    except (httpx.InvalidURL, UnicodeError):
        return False


async def _key_set(subject: Subject, url: str) -> Answer:
    async def fetch() -> Answer:
        return await subject.http.ask("GET", url, anonymous=True)

    return await subject.once(("keys", url), fetch)


def _key_of(answer: Answer, header: dict[str, Any]) -> PyJWK | None:
    """Return the key selected by a header, None if missing.

    Raises:
        UncheckedError: The extra `signing` is not installed.
    """
    try:
        return key_of(answer.json, header)
    except ImportError as error:
        raise UncheckedError("install a2a-adapters[signing] to check signatures") from error


def _is_valid(
    subject: Subject, signature: dict[str, Any], header: dict[str, Any], found: PyJWK
) -> bool:
    # Parsing modifies its argument.
    return is_signed(as_json(subject.card_answer.content), signature, header, found)
