"""Names one caller's conversation in the frameworks' own memories."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters import AgentRequest


def conversation_key(request: AgentRequest) -> str:
    """Return a name for (owner, context) that no other pair has, whatever the strings are."""
    pair = json.dumps([request.owner, request.context_id])
    return hashlib.sha256(pair.encode()).hexdigest()
