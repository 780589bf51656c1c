"""Sections of A2A 0.3.0, cited for agents that serve no A2A 1.0.

Where 0.3.0 has no rule, the general standard is cited.
"""

from __future__ import annotations

_CARD = "A2A 0.3.0, 5.5"
_TRANSPORT = "A2A 0.3.0, 5.6.1 and 5.6.4"
_SIGNATURE = "A2A 0.3.0, 5.5.6"
_SECURITY = "A2A 0.3.0, 10.2"
_AUTHENTICATION = "A2A 0.3.0, 4.4"
_JSON_RPC = "A2A 0.3.0, 8.1"

OLD_CLAUSES = {
    "card.found": "A2A 0.3.0, 5.3",
    "card.json": _CARD,
    "card.media-type": "RFC 8259, 11",
    "card.size": _SECURITY,
    "card.required": _CARD,
    "card.type": _CARD,
    "card.interface-version": _CARD,
    "card.interface-binding": "A2A 0.3.0, 3.2 and 5.5.5",
    "card.interface-twice": "A2A 0.3.0, 5.6.4",
    "card.skill-id": "A2A 0.3.0, 5.5.4",
    "card.media-types": "A2A 0.3.0, 5.5 and 5.5.4",
    "card.link": "A2A 0.3.0, 5.5 and 5.5.1",
    "card.extension": "A2A 0.3.0, 5.5.2.1",
    "card.generations": _CARD,
    "address.form": _CARD,
    "address.credentials": "A2A 0.3.0, 5.4",
    "address.https": "A2A 0.3.0, 4.1",
    "address.routable": _TRANSPORT,
    "text.hidden": _SECURITY,
    "text.injection": _SECURITY,
    "text.markup": _SECURITY,
    "text.secret": "A2A 0.3.0, 5.4",
    "signature.form": _SIGNATURE,
    "signature.key-address": _SIGNATURE,
    "signature.key": _SIGNATURE,
    "signature.valid": _SIGNATURE,
    "caching.max-age": "RFC 9111, 5.2.2.1",
    "caching.etag": "RFC 9110, 8.8.3",
    "caching.stable": "RFC 9110, 8.8.3",
    "caching.conditional": "RFC 9110, 13.1.2",
    "binding.answers": _TRANSPORT,
    "binding.redirect": _TRANSPORT,
    "binding.speaks": "A2A 0.3.0, 3.2 and 5.6.1",
    "binding.envelope": "A2A 0.3.0, 6.11, and JSON-RPC 2.0, 5",
    "binding.media-type": "A2A 0.3.0, 3.2.1 and 3.2.3",
    "binding.equal": "A2A 0.3.0, 3.4.1",
    "binding.grpc": "A2A 0.3.0, 3.2.2",
    "error.unknown-task": "A2A 0.3.0, 7.3 and 8.2",
    "error.unknown-task-cancel": "A2A 0.3.0, 7.4 and 8.2",
    "error.unknown-method": _JSON_RPC,
    "error.no-json": f"{_JSON_RPC} and 3.2.3",
    "error.no-request": _JSON_RPC,
    "error.params": _JSON_RPC,
    "send.inner-agents": _SECURITY,
    "send.answers": "A2A 0.3.0, 7.1",
    "error.shape": "A2A 0.3.0, 6.12",
    "capability.push": "A2A 0.3.0, 7.5",
    "capability.extended-card": "A2A 0.3.0, 7.10",
    "capability.undeclared-streaming": "A2A 0.3.0, 3.3",
    "security.scheme": "A2A 0.3.0, 5.5.3",
    "security.anonymous": _AUTHENTICATION,
    "security.wrong-credentials": _AUTHENTICATION,
    "security.challenge": f"{_AUTHENTICATION}, and RFC 9110, 15.5.2",
    "security.undeclared": "A2A 0.3.0, 4.3",
    "security.extended-card": "A2A 0.3.0, 7.10",
    "security.plain": "A2A 0.3.0, 4.1",
    "security.trace": _SECURITY,
    "security.path": _SECURITY,
    "security.hsts": "A2A 0.3.0, 4.1",
    "send.extension": "A2A 0.3.0, 5.5.2.1",
    "speed.latency": _SECURITY,
    "speed.card": "A2A 0.3.0, 5.1",
}
"""The section by the id of the check, for checks that apply to agents of A2A 0.3."""
