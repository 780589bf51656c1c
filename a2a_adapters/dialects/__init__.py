"""What plugins are built with that speak a dialect of A2A.

Servers and clients that came before the protocol, or beside it, have their own routes and shapes.
A plugin calls them over `HttpClients`, which are bounded and careful about where credentials go,
and reads their streams by `event_data`. One that serves them implements the hook `a2a_routes`: it
gets a `DialectServer` and returns `DialectRoutes`. `Answer` makes one answer of the events of a
`DialectAgent`.
"""

from __future__ import annotations

from a2a_adapters.conversion import message_parts, struct_to_dict, to_protocol, to_struct
from a2a_adapters.dialects.routes import DialectAgent, DialectRoutes, DialectServer, as_response
from a2a_adapters.remote.answer import Answer
from a2a_adapters.remote.card import agent_url
from a2a_adapters.remote.clients import HttpClients
from a2a_adapters.remote.quoting import quote
from a2a_adapters.remote.sse import event_data
from a2a_adapters.runtime.updates import one_line

__all__ = [
    "Answer",
    "DialectAgent",
    "DialectRoutes",
    "DialectServer",
    "HttpClients",
    "agent_url",
    "as_response",
    "event_data",
    "message_parts",
    "one_line",
    "quote",
    "struct_to_dict",
    "to_protocol",
    "to_struct",
]
