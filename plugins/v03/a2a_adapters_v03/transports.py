"""JSON-RPC and HTTP+JSON of A2A 0.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
from a2a.compat.v0_3 import a2a_v0_3_pb2 as pb
from a2a.compat.v0_3 import conversions, proto_utils, types
from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
from a2a.compat.v0_3.rest_transport import CompatRestTransport
from a2a.types import SendMessageRequest, SendMessageResponse, StreamResponse
from google.protobuf.json_format import MessageToDict
from pydantic import BaseModel, ValidationError

from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.calling.parsing import Parsers, log_unknown, parsed, with_zones
from a2a_adapters.calling.transports import JsonRpc, Rest
from a2a_adapters.contract.errors import violations
from a2a_adapters.contract.text import quote
from a2a_adapters.protocol.conversion import whole_numbers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from a2a.client import ClientCallContext
    from a2a.types import SubscribeToTaskRequest, Task

_METHODS: dict[str, tuple[str, Callable[[Any, str | int], Any]]] = {
    "SendMessage": ("message/send", conversions.to_compat_send_message_request),
    "SendStreamingMessage": ("message/stream", conversions.to_compat_send_message_request),
    "SubscribeToTask": ("tasks/resubscribe", conversions.to_compat_subscribe_to_task_request),
    "GetTask": ("tasks/get", conversions.to_compat_get_task_request),
    "CancelTask": ("tasks/cancel", conversions.to_compat_cancel_task_request),
}
_EVENTS: dict[str, type[BaseModel]] = {
    "task": types.Task,
    "message": types.Message,
    "status-update": types.TaskStatusUpdateEvent,
    "artifact-update": types.TaskArtifactUpdateEvent,
}
_NO_ID = 0
"""a2a-sdk's request models need an id; the transport assigns the real one."""


def _json_event(result: dict[str, Any]) -> StreamResponse:
    model = _EVENTS.get(_kind(result))
    if model is None:
        log_unknown(result)
        return StreamResponse()
    answer = types.SendStreamingMessageSuccessResponse(result=_model(model, result))
    return conversions.to_core_stream_response(answer)


def _json_sent(result: dict[str, Any]) -> SendMessageResponse:
    event = _json_event(result)
    match event.WhichOneof("payload"):
        case "task":
            return SendMessageResponse(task=event.task)
        case "message":
            return SendMessageResponse(message=event.message)
        case _:
            return SendMessageResponse()


def _json_task(result: dict[str, Any]) -> Task:
    return conversions.to_core_task(_model(types.Task, result))


def _kind(result: dict[str, Any]) -> str:
    """Return the kind of an event, also if an old server omits it."""
    match result:
        case {"kind": str(kind)}:
            return kind
        case {"taskId": _, "final": _}:
            return "status-update"
        case {"messageId": _}:
            return "message"
        case {"id": _}:
            return "task"
        case _:
            return ""


def _model(kind: type[Any], result: dict[str, Any]) -> Any:
    try:
        return kind.model_validate(with_zones(result))
    except ValidationError as error:
        place, what = violations(error)[0]
        raise RemoteAnswerError(
            f"the agent's answer is not A2A: {quote(what)} at {quote(place)}"
        ) from error


class OldJsonRpcTransport(JsonRpc, CompatJsonRpcTransport):
    """Calls an agent of A2A 0.3 over JSON-RPC."""

    version = "0.3"
    _parsers = Parsers(_json_sent, _json_event, _json_task)

    def _method(self, operation: str, message: Any) -> tuple[str, dict[str, Any]]:
        method, convert = _METHODS[operation]
        params = convert(message, _NO_ID).params
        dumped = params.model_dump(by_alias=True, exclude_none=True, mode="json")
        return method, whole_numbers(dumped)


def _proto_event(event: object) -> StreamResponse:
    found = parsed(with_zones(event), pb.StreamResponse())
    if found.WhichOneof("payload") is None:
        log_unknown(event)
        return StreamResponse()
    answer = types.SendStreamingMessageSuccessResponse(
        result=proto_utils.FromProto.stream_response(found)
    )
    return conversions.to_core_stream_response(answer)


def _proto_sent(result: object) -> SendMessageResponse:
    found = parsed(with_zones(result), pb.SendMessageResponse())
    match found.WhichOneof("payload"):
        case "task":
            return SendMessageResponse(task=_core_task(found.task))
        case "msg":
            message = proto_utils.FromProto.message(found.msg)
            return SendMessageResponse(message=conversions.to_core_message(message))
        case _:
            return SendMessageResponse()


def _proto_task(result: object) -> Task:
    return _core_task(parsed(with_zones(result), pb.Task()))


def _core_task(task: pb.Task) -> Task:
    return conversions.to_core_task(proto_utils.FromProto.task(task))


class OldRestTransport(Rest, CompatRestTransport):
    """Calls an agent of A2A 0.3 over HTTP+JSON."""

    version = "0.3"
    _parsers = Parsers(_proto_sent, _proto_event, _proto_task)

    async def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield the further events of a task; servers expect either POST or GET."""
        try:
            async for event in super().subscribe(request, context=context):
                yield event
        except httpx.HTTPStatusError as error:
            is_other = error.response.status_code == httpx.codes.METHOD_NOT_ALLOWED
            if not is_other or self._subscribes_by == "GET":
                raise
            self._subscribes_by = "GET"
            async for event in super().subscribe(request, context=context):
                yield event

    def _prefix(self, message: Any) -> str:  # noqa: ARG002 - 0.3 has no tenants
        return "/v1"

    def _body(self, message: Any) -> dict[str, Any]:
        """Return a message with protobuf's field names and unchanged whole numbers."""
        if not isinstance(message, SendMessageRequest):
            return {}
        params = conversions.to_compat_send_message_request(message, _NO_ID).params
        old = pb.SendMessageRequest(
            request=proto_utils.ToProto.message(params.message),
            configuration=proto_utils.ToProto.message_send_configuration(params.configuration),
            metadata=proto_utils.ToProto.metadata(params.metadata),
        )
        body: dict[str, Any] = whole_numbers(MessageToDict(old, preserving_proto_field_name=True))
        return body
