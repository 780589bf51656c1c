"""Checks that the texts of the card are safe to show to users and models."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from a2a_adapters_check.subject import Subject

_LONGEST = 20_000
_TEXTS = 5_000
_SHOWN = 60

_HIDDEN = re.compile(
    "[\u200b\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|(?<!\U0001f3f4)(?<![\U000e0020-\U000e007f])"
    "[\U000e0000-\U000e007f]"
)
"""Invisible characters that change the text, except joiners and flags needed by scripts and
emoji."""

_INJECTION = re.compile(
    r"""
    \b(ignore|disregard|forget|override)\s+(all\s+|any\s+|the\s+|your\s+|every\s+)*
        (previous|prior|above|earlier|preceding|other|system)\s+
        (instruction|direction|prompt|rule|message|guideline|agent|tool|constraint)
    | \b(do\s+not|don't|never)\s+(tell|inform|mention|reveal|show)\s+(this\s+)?(to\s+)?(the|any)\s+
        (user|human|operator)
    | \b(always|only|you\s+must)\s+(call|use|choose|select|prefer|pick|delegate\s+to|route\s+to)\s+
        (this\s+(agent|tool|skill|one)|me|my\s+agent)\b
    | \byou\s+are\s+now\s+(a|an)\b
    | \b(reveal|print|repeat|send|leak|exfiltrate)\s+(me\s+|us\s+)?(all\s+)?(your|the|any)\s+
        (system\s+prompt|hidden\s+instructions|api[\s_-]?keys?|passwords?|credentials|secrets?|
         access\s+tokens?|conversation\s+history)
    | <\s*+/?\s*+(system|important|instructions?|assistant)\s*>
    | <\|(im_start|im_end|system|endoftext)\|>
    | \[/?INST\]
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MARKUP = re.compile(r"<\s*(script|iframe|object|embed|svg|img|style)\b|javascript:", re.IGNORECASE)
_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAIza[0-9A-Za-z_-]{35}"
    r"|(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
)


@check(
    "text.hidden",
    Severity.ERROR,
    clause="A2A 1.0.1, 13.4",
    remedy="Remove zero-width, bidirectional, tag and control characters.",
)
async def hidden(subject: Subject) -> AsyncIterator[Fault]:
    """The card contains no invisible characters."""
    for text, where in texts(subject.card):
        if found := _HIDDEN.search(text):
            code = ord(found[0])
            name = unicodedata.name(found[0], "a control character")
            yield Fault(f"U+{code:04X} ({name.lower()}) is hidden in the text", where)


@check(
    "text.injection",
    Severity.ERROR,
    clause="A2A 1.0.1, 13.4",
    remedy="Describe the agent without instructing its caller.",
)
async def injection(subject: Subject) -> AsyncIterator[Fault]:
    """The card contains no instructions to models."""
    for text, where in texts(subject.card):
        if found := _INJECTION.search(_plain(text)):
            yield Fault(f"the text instructs models: {_quoted(found)}", where)


@check(
    "text.markup",
    Severity.WARNING,
    clause="A2A 1.0.1, 13.4",
    remedy="Write plain text or Markdown.",
)
async def markup(subject: Subject) -> AsyncIterator[Fault]:
    """The card contains no active markup."""
    for text, where in texts(subject.card):
        if found := _MARKUP.search(text):
            yield Fault(f"the text contains markup: {_quoted(found)}", where)


@check(
    "text.secret",
    Severity.ERROR,
    clause="A2A 1.0.1, 13.4",
    remedy="Remove the secret and rotate it: it was public.",
)
async def secret(subject: Subject) -> AsyncIterator[Fault]:
    """The card contains no secrets."""
    for text, where in texts(subject.card):
        if found := _SECRET.search(text):
            yield Fault(f"the text contains a likely secret: {found[0][:8]}…", where)


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts in a card, including field names, with JSON pointers."""
    todo: list[tuple[Any, str]] = [(value, "")]
    for _ in range(_TEXTS):
        if not todo:
            return
        item, where = todo.pop()
        if isinstance(item, str):
            yield item[:_LONGEST], where
        elif isinstance(item, dict):
            todo.extend((key, where) for key in item)
            todo.extend(
                (each, f"{where}/{key}") for key, each in item.items() if key != "signatures"
            )
        elif isinstance(item, list):
            todo.extend((each, f"{where}/{index}") for index, each in enumerate(item))


def _plain(text: str) -> str:
    """Normalise look-alike letters and remove invisible characters."""
    return _HIDDEN.sub("", unicodedata.normalize("NFKC", text))


def _quoted(found: re.Match[str]) -> str:
    return repr(" ".join(found[0].split())[:_SHOWN])
