"""Wire format of calls between processes: a line of JSON and a protocol message."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from a2a.server.context import ServerCallContext
from a2a.types import (
    Message,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a.utils import errors as a2a_errors
from a2a.utils.errors import A2AError, InternalError

from a2a_adapters.contract.caller import CALLER, Caller
from a2a_adapters.protocol import errors as our_errors
from a2a_adapters.protocol.headers import V03, VERSION_STATE
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.runtime.admission import speaks_v03
from a2a_adapters_sql.replicas.window import TAKEN_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence

    from a2a.server.events import Event
    from google.protobuf.message import Message as Proto

    from a2a_adapters.runtime.subscriber import Subscription
    from a2a_adapters.runtime.updates import AnyUpdate

Kind: TypeAlias = Literal["call", "heard", "part", "taken", "end", "error", "lost", "stop"]

_ERRORS: dict[str, type[A2AError]] = {
    name: kind
    for module in (a2a_errors, our_errors)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, A2AError)
}


_SIZE = struct.Struct("!I")

_FIELDS: dict[type[Event], str] = {
    Task: "task",
    Message: "message",
    TaskStatusUpdateEvent: "status_update",
    TaskArtifactUpdateEvent: "artifact_update",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """A part of a call or its answer."""

    kind: Kind
    call_id: str
    number: int = 0
    """Number of the frame within an answer."""
    head: Any = None
    body: bytes = b""

    def to_bytes(self) -> bytes:
        """Serialise it."""
        about = [self.kind, self.call_id, self.number, self.head]
        return json.dumps(about).encode() + b"\n" + self.body

    @classmethod
    def of(cls, data: bytes) -> Frame:
        """Parse it."""
        about, _, body = data.partition(b"\n")
        kind, call_id, number, head = json.loads(about)
        return cls(kind, call_id, number, head, body)


@dataclass(frozen=True, slots=True)
class Call:
    """An operation for another process, with its caller."""

    operation: str
    owner: str
    extensions: Sequence[str]
    is_v03: bool
    params: bytes
    caller: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What an agent is told about the sender of a message besides the name."""

    @classmethod
    def of(cls, operation: str, params: Proto, context: ServerCallContext) -> Call:
        """Return the call for an operation."""
        return cls(
            operation,
            context.user.user_name,
            sorted(context.requested_extensions),
            speaks_v03(context),
            params.SerializeToString(),
            _known_of(context.state.get(CALLER)) if isinstance(params, SendMessageRequest) else {},
        )

    def frame(self, call_id: str) -> Frame:
        """Serialise it."""
        about = {name: value for name, value in asdict(self).items() if name != "params"}
        if not self.caller:
            del about["caller"]  # the previous release does not know it
        return Frame("call", call_id, 0, about, self.params)

    @classmethod
    def from_frame(cls, frame: Frame) -> Call:
        """Parse it."""
        return cls(**frame.head, params=frame.body)

    @property
    def context(self) -> ServerCallContext:
        """The caller's context."""
        scopes = frozenset(self.caller.get("scopes", ()))
        state: dict[str, Any] = {
            CALLER: Caller(**{**self.caller, "owner": self.owner, "scopes": scopes})
        }
        if self.is_v03:
            state[VERSION_STATE] = V03
        return ServerCallContext(
            user=Owner(self.owner), requested_extensions=set(self.extensions), state=state
        )


def _known_of(caller: Caller | None) -> dict[str, Any]:
    """Return the attributes of a caller that are not empty, without the owner, for JSON."""
    if caller is None:
        return {}
    known = {name: value for name, value in asdict(caller).items() if value and name != "owner"}
    return {**known, "scopes": sorted(caller.scopes)} if caller.scopes else known


def error_head(error: A2AError) -> list[Any]:
    """Serialise an error."""
    return [type(error).__name__, error.message, error.data]


def error_of(head: list[Any]) -> A2AError:
    """Parse an error."""
    name, message, data = head
    if name == our_errors.ConversationElsewhereError.__name__:
        return our_errors.ConversationElsewhereError()  # the storage knows the process
    error = _ERRORS.get(name, InternalError)(message)
    error.data = data
    return error


def pack(events: Iterable[Event]) -> bytes:
    """Serialise events."""
    packed = []
    for event in events:
        response = StreamResponse()
        getattr(response, _FIELDS[type(event)]).CopyFrom(event)
        body = response.SerializeToString()
        packed += [_SIZE.pack(len(body)), body]
    return b"".join(packed)


def unpack(data: bytes) -> Iterator[Event]:
    """Parse events."""
    start = 0
    while start < len(data):
        (size,) = _SIZE.unpack_from(data, start)
        start += _SIZE.size
        response = StreamResponse.FromString(data[start : start + size])
        start += size
        yield getattr(response, response.WhichOneof("payload") or "")


async def packed(subscription: Subscription) -> AsyncGenerator[bytes]:
    """Yield serialised batches of a stream's events; close it at the end."""
    try:
        while updates := await subscription.take():
            for some in _pieces(updates):
                yield pack(update.event for update in some)
    finally:
        subscription.close()


def _pieces(updates: Sequence[AnyUpdate]) -> Iterator[Sequence[AnyUpdate]]:
    """Split a batch of updates by size."""
    some: list[AnyUpdate] = []
    size = 0
    for update in updates:
        if some and size + update.size > TAKEN_BYTES:
            yield some
            some, size = [], 0
        some.append(update)
        size += update.size
    yield some
