"""The calls of both gRPC services: A2A 1.0, section 10.4, and A2A 0.3, section 3.2.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import InvalidParamsError
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.empty_pb2 import Empty

from a2a_adapters.bindings import operations, v03
from a2a_adapters.bindings import v03 as v03_proto
from a2a_adapters.protocol.versions import V03, V1

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from a2a_adapters.bindings.operations import Operation


@dataclass(frozen=True, slots=True)
class Rpc:
    """An operation in one service.

    Attributes:
        operation: What is carried out.
        request: What the call sends.
        to_core: Makes the operation's request from it; raises `InvalidParamsError`.
        to_wire: Makes the answer from its result or, if it streams, from an event.
    """

    operation: Operation
    request: type[Message]
    to_core: Callable[[Any], Any]
    to_wire: Callable[[Any], Message]

    def streamed(self, event: Any) -> bytes:
        """Return an event of a stream as it goes over the wire."""
        return self.to_wire(event).SerializeToString()


@dataclass(frozen=True, slots=True)
class Service:
    """The calls of one version of the protocol."""

    name: str
    version: str
    calls: dict[str, Rpc]


def _rpc(operation: Operation, to_wire: Callable[[Any], Message] | None = None) -> Rpc:
    return Rpc(operation, operation.params, _same, to_wire or _same)


def _same(message: Any) -> Any:
    return message


def _empty(_result: object) -> Empty:
    return Empty()


def _sent(result: Any) -> SendMessageResponse:
    if isinstance(result, Task):
        return SendMessageResponse(task=result)
    return SendMessageResponse(message=result)


SERVICE = Service(
    "lf.a2a.v1.A2AService",
    V1,
    {
        "SendMessage": _rpc(operations.SEND, _sent),
        "SendStreamingMessage": _rpc(operations.STREAM, to_stream_response),
        "GetTask": _rpc(operations.GET),
        "ListTasks": _rpc(operations.LIST),
        "CancelTask": _rpc(operations.CANCEL),
        "SubscribeToTask": _rpc(operations.SUBSCRIBE, to_stream_response),
        "CreateTaskPushNotificationConfig": _rpc(operations.CREATE_PUSH),
        "GetTaskPushNotificationConfig": _rpc(operations.GET_PUSH),
        "ListTaskPushNotificationConfigs": _rpc(operations.LIST_PUSH),
        "DeleteTaskPushNotificationConfig": _rpc(operations.DELETE_PUSH, _empty),
        "GetExtendedAgentCard": _rpc(operations.EXTENDED_CARD),
    },
)


def _named(resource: str) -> list[str]:
    """Return the ids in `tasks/{id}` or `tasks/{id}/pushNotificationConfigs/{id}`."""
    kind, _, rest = resource.partition("/")
    task_id, _, config = rest.partition("/pushNotificationConfigs/")
    if kind != "tasks" or not task_id or "/" in task_id:
        raise InvalidParamsError("a resource is named tasks/{id}[/pushNotificationConfigs/{id}]")
    return [task_id, config]


def _get(request: old.GetTaskRequest) -> GetTaskRequest:
    core = GetTaskRequest(id=_named(request.name)[0])
    if request.history_length:  # 0 is 0.3's word for "all of it"
        core.history_length = request.history_length
    return core


def _cancel(request: old.CancelTaskRequest) -> CancelTaskRequest:
    return CancelTaskRequest(id=_named(request.name)[0])


def _subscribe(request: old.TaskSubscriptionRequest) -> SubscribeToTaskRequest:
    return SubscribeToTaskRequest(id=_named(request.name)[0])


def _create_push(
    request: old.CreateTaskPushNotificationConfigRequest,
) -> TaskPushNotificationConfig:
    return v03_proto.to_core_push(request.config, _named(request.parent)[0])


def _get_push(
    request: old.GetTaskPushNotificationConfigRequest,
) -> GetTaskPushNotificationConfigRequest:
    task_id, config = _named(request.name)
    return GetTaskPushNotificationConfigRequest(task_id=task_id, id=config)


def _list_push(
    request: old.ListTaskPushNotificationConfigRequest,
) -> ListTaskPushNotificationConfigsRequest:
    return ListTaskPushNotificationConfigsRequest(task_id=_named(request.parent)[0])


def _delete_push(
    request: old.DeleteTaskPushNotificationConfigRequest,
) -> DeleteTaskPushNotificationConfigRequest:
    task_id, config = _named(request.name)
    return DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config)


def _get_card(_request: old.GetAgentCardRequest) -> GetExtendedAgentCardRequest:
    return GetExtendedAgentCardRequest()


OLD_SERVICE = Service(
    "a2a.v1.A2AService",
    V03,
    {
        "SendMessage": Rpc(
            operations.SEND,
            old.SendMessageRequest,
            v03_proto.to_core_send,
            v03_proto.from_sent,
        ),
        "SendStreamingMessage": Rpc(
            operations.STREAM,
            old.SendMessageRequest,
            v03_proto.to_core_send,
            v03_proto.from_event,
        ),
        "GetTask": Rpc(operations.GET, old.GetTaskRequest, _get, v03_proto.from_task),
        "CancelTask": Rpc(operations.CANCEL, old.CancelTaskRequest, _cancel, v03_proto.from_task),
        "TaskSubscription": Rpc(
            operations.SUBSCRIBE,
            old.TaskSubscriptionRequest,
            _subscribe,
            v03_proto.from_event,
        ),
        "CreateTaskPushNotificationConfig": Rpc(
            operations.CREATE_PUSH,
            old.CreateTaskPushNotificationConfigRequest,
            _create_push,
            v03_proto.from_push,
        ),
        "GetTaskPushNotificationConfig": Rpc(
            v03.GET_PUSH,
            old.GetTaskPushNotificationConfigRequest,
            _get_push,
            v03_proto.from_push,
        ),
        "ListTaskPushNotificationConfig": Rpc(
            operations.LIST_PUSH,
            old.ListTaskPushNotificationConfigRequest,
            _list_push,
            v03_proto.from_pushes,
        ),
        "DeleteTaskPushNotificationConfig": Rpc(
            operations.DELETE_PUSH,
            old.DeleteTaskPushNotificationConfigRequest,
            _delete_push,
            _empty,
        ),
        "GetAgentCard": Rpc(
            v03.EXTENDED_CARD,
            old.GetAgentCardRequest,
            _get_card,
            v03_proto.from_card,
        ),
    },
)
