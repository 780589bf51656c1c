"""Building blocks for plugins that speak another wire protocol (a dialect).

To call agents of a dialect, return a `DialectTransport` from the hook `a2a_transport`; it uses
`JsonHttp`, or `event_data` for streams. `HttpClients` apply limits and protect credentials. To
serve a dialect, implement the hook `a2a_routes`, which gets a `DialectServer` and returns
`DialectRoutes`. `Answer` accumulates the events of a `DialectAgent` into one answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.calling.answer import Answer
from a2a_adapters.calling.card import agent_url
from a2a_adapters.calling.http import HttpClients
from a2a_adapters.calling.json_http import JsonHttp, event_data
from a2a_adapters.calling.passing_on import answer_of, passed_on
from a2a_adapters.calling.reply import LaterText
from a2a_adapters.calling.transports import rpc_call, rpc_refusal
from a2a_adapters.contract.dialect_routes import (
    DialectAgent,
    DialectRoutes,
    DialectServer,
    as_response,
)
from a2a_adapters.contract.hooks import lazy_names
from a2a_adapters.contract.text import artifact_text, correction, is_corrected, quote
from a2a_adapters.protocol.conversion import message_parts, struct_to_dict, to_protocol, to_struct
from a2a_adapters.protocol.encoding import one_line
from a2a_adapters.protocol.errors import is_busy
from a2a_adapters.protocol.messages import (
    agent_message,
    artifact_response,
    new_id,
    status_response,
    user_message,
)

if TYPE_CHECKING:
    from a2a_adapters.bindings.http import PageRoute, read_json
    from a2a_adapters.calling.dialect_transport import DialectTransport
    from a2a_adapters.observability.failures import log_failure
    from a2a_adapters.security.rates import share_of_caller
    from a2a_adapters.storage.quota import Room

__all__ = [
    "Answer", "DialectAgent", "DialectRoutes", "DialectServer", "DialectTransport", "HttpClients",
    "JsonHttp", "LaterText", "PageRoute", "Room", "agent_message", "agent_url", "answer_of",
    "artifact_response", "artifact_text", "as_response", "correction", "event_data", "is_busy",
    "is_corrected", "log_failure", "message_parts", "new_id", "one_line", "passed_on", "quote",
    "read_json", "rpc_call", "rpc_refusal", "share_of_caller", "status_response",
    "struct_to_dict", "to_protocol", "to_struct", "user_message",
]  # fmt: skip

# Loaded on first use: plugins that call a dialect do not need the server, and vice versa.
__getattr__ = lazy_names(
    "a2a_adapters",
    {
        "DialectTransport": "calling.dialect_transport",
        "log_failure": "observability.failures",
        "read_json": "bindings.http",
        "PageRoute": "bindings.http",
        "Room": "storage.quota",
        "share_of_caller": "security.rates",
    },
)
