"""The state of flows with `@persist`: one for each conversation.

crewai stores a state under its id, and begins with it where a kickoff is given that id. So the id
is made of all that tells conversations apart; nobody who knows one of them gets at another's.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crewai import Flow

    from a2a_adapters import AgentRequest


def keeps_state(flow: Flow[Any]) -> bool:
    """Whether the flow says that its state is stored after its methods."""
    definition = type(flow).flow_definition()
    stores = (definition.persist, *(method.persist for method in definition.methods.values()))
    return any(store and store.enabled for store in stores)


def state_id(flow: Flow[Any], request: AgentRequest) -> str:
    """Return the id of a conversation's state.

    Flows that share a database must not share states, so their names are part of it.
    """
    kind = type(flow)
    named = [kind.__module__, kind.__qualname__, flow.name, request.owner, request.context_id]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()
