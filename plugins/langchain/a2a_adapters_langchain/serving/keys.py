"""Names one caller's conversation in the frameworks' own memories."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters import AgentRequest


def conversation_key(request: AgentRequest, *agent: str) -> str:
    """Return a name for (owner, context) that no other pair has, whatever the strings are.

    With an agent's name it is the name among those of all agents.
    """
    names = json.dumps([*agent, request.owner, request.context_id])
    return hashlib.sha256(names.encode()).hexdigest()


def conversation_uuid(request: AgentRequest, *agent: str) -> str:
    """Return the same as a UUID, for LangGraph's servers, whose threads have no other names."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, conversation_key(request, *agent)))
