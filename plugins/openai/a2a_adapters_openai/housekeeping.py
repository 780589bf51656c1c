"""Requests that Open WebUI sends on its own, under the id of the user's chat.

It asks the model for a title, tags, follow-up questions and search queries. They are answered
here, because an agent would take them for messages of the user.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_BEGIN = "### Task:"
_ASKED = re.compile(r'\{\s*"(title|tags|follow_ups|queries|text|prompt)"\s*:')
_ANSWER = re.compile(r"^ASSISTANT:", re.MULTILINE)
_TITLE_WORDS = 6


def housekeeping(messages: Sequence[dict[str, Any]]) -> str:
    """Return the answer to such a request, "" for any other."""
    match messages:
        case [{"role": "user", "content": str(prompt)}] if prompt.startswith(_BEGIN):
            asked = _ASKED.search(prompt)
            history, closing, _ = prompt.partition("<chat_history>")[2].partition("</chat_history>")
        case _:
            return ""
    if asked is None or not closing:
        return ""
    name = asked[1]
    return json.dumps({name: _title(history)} if name == "title" else {name: _nothing(name)})


def _nothing(name: str) -> str | list[str]:
    return "" if name in {"text", "prompt"} else []


def _title(history: str) -> str:
    first = _ANSWER.split(history.strip().removeprefix("USER:"), maxsplit=1)[0]
    words = first.split(maxsplit=_TITLE_WORDS)[:_TITLE_WORDS]
    return " ".join(words)[:80] or "Chat"
