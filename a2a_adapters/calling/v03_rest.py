"""HTTP+JSON to an agent of A2A 0.3, for what `a2a_adapters.calling.jsonrpc` says of a2a-sdk's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
from a2a.compat.v0_3 import a2a_v0_3_pb2 as pb
from a2a.compat.v0_3 import conversions, proto_utils, types
from a2a.compat.v0_3.rest_transport import CompatRestTransport
from a2a.types import SendMessageResponse, StreamResponse
from google.protobuf.json_format import MessageToDict

from a2a_adapters.calling import nearly
from a2a_adapters.calling.json_http import parsed
from a2a_adapters.calling.rest import Rest, in_path
from a2a_adapters.protocol.conversion import whole_numbers

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.client import ClientCallContext
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        SendMessageRequest,
        SubscribeToTaskRequest,
        Task,
    )


class OldRestTransport(CompatRestTransport):
    """Calls an agent's HTTP+JSON interface of A2A 0.3."""

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url, is_shared_httpx=True)
        self._rest = Rest(http, url, "0.3")
        self._subscribes_by = "POST"

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for the task or message that answers it."""
        return await self._rest.post("/v1/message:send", _body(request), context, _sent)

    def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield what happens to its task."""
        body = _body(request)
        return self._rest.stream("/v1/message:stream", body, context, _event)

    async def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield what happens to a task from now on; servers take it as POST, or as GET."""
        path = f"/v1/tasks/{in_path(request.id)}:subscribe"
        try:
            verb = self._subscribes_by
            async for event in self._rest.stream(path, None, context, _event, verb):
                yield event
        except httpx.HTTPStatusError as error:
            is_other = error.response.status_code == httpx.codes.METHOD_NOT_ALLOWED
            if not is_other or self._subscribes_by == "GET":
                raise
            self._subscribes_by = "GET"
            async for event in self.subscribe(request, context=context):
                yield event

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return a task."""
        has_length = request.HasField("history_length")
        query = {"historyLength": request.history_length} if has_length else {}
        return await self._rest.get(f"/v1/tasks/{in_path(request.id)}", query, context, _found)

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Cancel a task."""
        path = f"/v1/tasks/{in_path(request.id)}:cancel"
        return await self._rest.post(path, {}, context, _found)


def _body(request: SendMessageRequest) -> dict[str, Any]:
    """Return a request in the names of the protocol's fields, whole numbers as they came."""
    params = conversions.to_compat_send_message_request(request, 0).params
    old = pb.SendMessageRequest(
        request=proto_utils.ToProto.message(params.message),
        configuration=proto_utils.ToProto.message_send_configuration(params.configuration),
        metadata=proto_utils.ToProto.metadata(params.metadata),
    )
    body: dict[str, Any] = whole_numbers(MessageToDict(old, preserving_proto_field_name=True))
    return body


def _sent(result: object) -> SendMessageResponse:
    found = parsed(nearly.dated(result), pb.SendMessageResponse())
    match found.WhichOneof("payload"):
        case "task":
            return SendMessageResponse(task=_task(found.task))
        case "msg":
            message = proto_utils.FromProto.message(found.msg)
            return SendMessageResponse(message=conversions.to_core_message(message))
        case _:
            return SendMessageResponse()


def _found(result: object) -> Task:
    return _task(parsed(nearly.dated(result), pb.Task()))


def _task(task: pb.Task) -> Task:
    return conversions.to_core_task(proto_utils.FromProto.task(task))


def _event(event: object) -> StreamResponse:
    """Return an event; one of no known kind is empty, and told of in the log."""
    found = parsed(nearly.dated(event), pb.StreamResponse())
    if found.WhichOneof("payload") is None:
        nearly.tell_unknown(event if isinstance(event, dict) else {})
        return StreamResponse()
    answer = types.SendStreamingMessageSuccessResponse(
        result=proto_utils.FromProto.stream_response(found)
    )
    return conversions.to_core_stream_response(answer)
