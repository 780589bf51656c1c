"""What plugins are built with that speak a dialect of A2A.

Servers and clients that came before the protocol, or beside it, have their own routes and shapes.
A plugin calls them over `HttpClients`, which are bounded and careful about where credentials go,
and reads their streams by `event_data`. One that serves them implements the hook `a2a_routes`: it
gets a `DialectServer` and returns `DialectRoutes`. `Answer` makes one answer of the events of a
`DialectAgent`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.calling.answer import Answer
from a2a_adapters.calling.card import agent_url
from a2a_adapters.calling.clients import HttpClients
from a2a_adapters.calling.quoting import quote
from a2a_adapters.calling.sse import event_data
from a2a_adapters.lazy import lazy_names
from a2a_adapters.protocol.conversion import message_parts, struct_to_dict, to_protocol, to_struct
from a2a_adapters.protocol.wire import one_line

if TYPE_CHECKING:
    from a2a_adapters.bindings.http import read_json
    from a2a_adapters.serving.dialects import (
        DialectAgent,
        DialectRoutes,
        DialectServer,
        as_response,
    )

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
    "read_json",
    "struct_to_dict",
    "to_protocol",
    "to_struct",
]

# The server's half: who calls an agent of a dialect does not load it.
__getattr__ = lazy_names(
    "a2a_adapters",
    {
        "read_json": "bindings.http",
        **dict.fromkeys(
            ("DialectAgent", "DialectRoutes", "DialectServer", "as_response"), "serving.dialects"
        ),
    },
)
