"""The methods of both gRPC services: A2A 1.0, section 10.4, and A2A 0.3, section 3.2.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import (
    GetTaskRequest,
    SendMessageResponse,
    StreamResponse,
)
from a2a.utils.errors import InvalidParamsError
from google.protobuf.empty_pb2 import Empty

from a2a_adapters.bindings import operations, v03_conversion
from a2a_adapters.protocol.headers import V03, V1

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from a2a_adapters.bindings.operations import Operation


@dataclass(frozen=True, slots=True)
class Rpc:
    """A method of one service.

    Attributes:
        operation: The operation that the method calls.
        request: The type of the message that a client sends.
        read: Parses a request; raises any exception if it is malformed.
        write: Encodes a result or, of a stream, an event.
        converts: Whether `read` and `write` convert between protocol versions, which is slow.
    """

    operation: Operation
    request: type[Message]
    read: Callable[[bytes], Any]
    write: Callable[[Any], bytes]
    converts: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """The methods of one protocol version."""

    name: str
    version: str
    calls: dict[str, Rpc]


def _rpc(operation: Operation, write: Callable[[Any], bytes] | None = None) -> Rpc:
    read = operation.params.FromString
    return Rpc(operation, operation.params, read, write or _written)


def _written(result: Message) -> bytes:
    return result.SerializeToString()


def only_field(answer: type[Message]) -> Callable[[Message], bytes]:
    """Return a function that encodes an `answer` from the only message it holds.

    Protobuf copies a message into a field of another by encoding and decoding it: three times the
    work. The function writes the field's encoding instead: its tag, its length and the message.
    """
    tags = {
        field.message_type: _varint(field.number << 3 | 2) for field in answer.DESCRIPTOR.fields
    }

    def write(content: Message) -> bytes:
        wire = content.SerializeToString()
        return tags[content.DESCRIPTOR] + _varint(len(wire)) + wire

    return write


def _varint(number: int) -> bytes:
    """Encode seven bits per byte, the lowest first; all bytes but the last have the eighth set."""
    septets = bytearray()
    while number > 0x7F:
        septets.append(number & 0x7F | 0x80)
        number >>= 7
    septets.append(number)
    return bytes(septets)


_event = only_field(StreamResponse)

SERVICE = Service(
    "lf.a2a.v1.A2AService",
    V1,
    {
        "SendMessage": _rpc(operations.SEND, only_field(SendMessageResponse)),
        "SendStreamingMessage": _rpc(operations.STREAM, _event),
        "GetTask": _rpc(operations.GET),
        "ListTasks": _rpc(operations.LIST),
        "CancelTask": _rpc(operations.CANCEL),
        "SubscribeToTask": _rpc(operations.SUBSCRIBE, _event),
        "CreateTaskPushNotificationConfig": _rpc(operations.CREATE_PUSH),
        "GetTaskPushNotificationConfig": _rpc(operations.GET_PUSH),
        "ListTaskPushNotificationConfigs": _rpc(operations.LIST_PUSH),
        "DeleteTaskPushNotificationConfig": _rpc(operations.DELETE_PUSH, lambda _result: b""),
        "GetExtendedAgentCard": _rpc(operations.EXTENDED_CARD),
    },
)


def _old(
    operation: Operation,
    request: type[Message],
    to_core: Callable[[Any], Any],
    to_wire: Callable[[Any], Message],
) -> Rpc:
    def read(wire: bytes) -> Any:
        return to_core(request.FromString(wire))

    def write(result: Any) -> bytes:
        return to_wire(result).SerializeToString()

    return Rpc(operation, request, read, write, converts=True)


def _named(resource: str) -> list[str]:
    """Return the ids in `tasks/{id}` or `tasks/{id}/pushNotificationConfigs/{id}`."""
    kind, _, rest = resource.partition("/")
    task_id, _, config = rest.partition("/pushNotificationConfigs/")
    if kind != "tasks" or not task_id or "/" in task_id:
        raise InvalidParamsError(
            "a resource name must have the form tasks/{id}[/pushNotificationConfigs/{id}]"
        )
    return [task_id, config]


def _get(request: old.GetTaskRequest) -> GetTaskRequest:
    core = GetTaskRequest(id=_named(request.name)[0])
    if request.history_length:  # in 0.3, 0 means the whole history
        core.history_length = request.history_length
    return core


def _push(request: Any) -> dict[str, str]:
    """Return the fields that identify a push notification configuration."""
    return dict(zip(("task_id", "id"), _named(request.name), strict=True))


OLD_SERVICE = Service(
    "a2a.v1.A2AService",
    V03,
    {
        "SendMessage": _old(
            operations.SEND,
            old.SendMessageRequest,
            v03_conversion.to_core_send,
            v03_conversion.from_sent,
        ),
        "SendStreamingMessage": _old(
            operations.STREAM,
            old.SendMessageRequest,
            v03_conversion.to_core_send,
            v03_conversion.from_event,
        ),
        "GetTask": _old(operations.GET, old.GetTaskRequest, _get, v03_conversion.from_task),
        "CancelTask": _old(
            operations.CANCEL,
            old.CancelTaskRequest,
            lambda request: operations.CANCEL.params(id=_named(request.name)[0]),
            v03_conversion.from_task,
        ),
        "TaskSubscription": _old(
            operations.SUBSCRIBE,
            old.TaskSubscriptionRequest,
            lambda request: operations.SUBSCRIBE.params(id=_named(request.name)[0]),
            v03_conversion.from_event,
        ),
        "CreateTaskPushNotificationConfig": _old(
            operations.CREATE_PUSH,
            old.CreateTaskPushNotificationConfigRequest,
            lambda request: v03_conversion.to_core_push(request.config, _named(request.parent)[0]),
            v03_conversion.from_push,
        ),
        "GetTaskPushNotificationConfig": _old(
            v03_conversion.GET_PUSH,
            old.GetTaskPushNotificationConfigRequest,
            lambda request: operations.GET_PUSH.params(**_push(request)),
            v03_conversion.from_push,
        ),
        "ListTaskPushNotificationConfig": _old(
            operations.LIST_PUSH,
            old.ListTaskPushNotificationConfigRequest,
            lambda request: operations.LIST_PUSH.params(task_id=_named(request.parent)[0]),
            v03_conversion.from_pushes,
        ),
        "DeleteTaskPushNotificationConfig": _old(
            operations.DELETE_PUSH,
            old.DeleteTaskPushNotificationConfigRequest,
            lambda request: operations.DELETE_PUSH.params(**_push(request)),
            lambda _result: Empty(),
        ),
        "GetAgentCard": _old(
            v03_conversion.EXTENDED_CARD,
            old.GetAgentCardRequest,
            lambda _request: operations.EXTENDED_CARD.params(),
            v03_conversion.from_card,
        ),
    },
)
