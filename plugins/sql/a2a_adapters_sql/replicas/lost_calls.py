"""Calls of other processes whose answers are lost: which of them may be made once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import SendMessageRequest

from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime.identity import is_recognizable

if TYPE_CHECKING:
    from google.protobuf.message import Message as Proto

    from a2a_adapters_sql.replicas.calls import Call
    from a2a_adapters_sql.replicas.peers import PeerLostError


def check_repeat(operation: str, params: Proto, owner: str, lost: PeerLostError) -> None:
    """Refuse to repeat what may have been done, and cannot be done once more.

    Raises:
        StorageUnavailableError: Nobody knows what became of it.
    """
    may_repeat = operation in {"GetTask", "DeleteConfig"}
    if isinstance(params, SendMessageRequest):
        may_repeat = is_recognizable(params.message.message_id, owner)
    if lost.was_heard and not may_repeat:
        raise StorageUnavailableError from lost


def left_to_send(call: Call | None, lost: PeerLostError) -> Call | None:
    """Return the message that is yet to be sent to whoever has its task now.

    Raises:
        StorageUnavailableError: Nobody knows whether it was taken.
    """
    if call is not None:
        sent = SendMessageRequest.FromString(call.params)
        check_repeat(call.operation, sent, call.owner, lost)
    return call
