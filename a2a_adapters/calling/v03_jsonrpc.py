"""JSON-RPC to an agent of A2A 0.3, for what `a2a_adapters.calling.jsonrpc` says of a2a-sdk's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.compat.v0_3 import conversions, types
from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
from a2a.types import SendMessageResponse, StreamResponse
from pydantic import BaseModel, ValidationError

from a2a_adapters.calling import nearly
from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.calling.rpc import Rpc
from a2a_adapters.contract.errors import violations
from a2a_adapters.protocol.conversion import whole_numbers
from a2a_adapters.protocol.shown import quote

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx
    from a2a.client import ClientCallContext
    from a2a.types import (
        AgentCard,
        CancelTaskRequest,
        GetTaskRequest,
        SendMessageRequest,
        SubscribeToTaskRequest,
        Task,
    )

_EVENTS: dict[str, type[BaseModel]] = {
    "task": types.Task,
    "message": types.Message,
    "status-update": types.TaskStatusUpdateEvent,
    "artifact-update": types.TaskArtifactUpdateEvent,
}
_NO_ID = 0
"""a2a-sdk's models of requests want an id; `Rpc` gives each call its own."""


class OldJsonRpcTransport(CompatJsonRpcTransport):
    """Calls an agent's JSON-RPC interface of A2A 0.3."""

    def __init__(self, http: httpx.AsyncClient, card: AgentCard, url: str) -> None:
        super().__init__(http, card, url, is_shared_httpx=True)
        self._rpc = Rpc(http, url, "0.3")

    async def send_message(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> SendMessageResponse:
        """Send a message and wait for the task or message that answers it."""
        params = _send_params(request)
        found = await self._rpc.call("message/send", params, context, _event)
        match found.WhichOneof("payload"):
            case "task":
                return SendMessageResponse(task=found.task)
            case "message":
                return SendMessageResponse(message=found.message)
            case _:
                return SendMessageResponse()

    def send_message_streaming(
        self, request: SendMessageRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message and yield what happens to its task."""
        params = _send_params(request)
        return self._rpc.stream("message/stream", params, context, _event)

    def subscribe(
        self, request: SubscribeToTaskRequest, *, context: ClientCallContext | None = None
    ) -> AsyncGenerator[StreamResponse]:
        """Yield what happens to a task from now on."""
        params = _params(conversions.to_compat_subscribe_to_task_request(request, _NO_ID))
        return self._rpc.stream("tasks/resubscribe", params, context, _event)

    async def get_task(
        self, request: GetTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Return a task."""
        params = _params(conversions.to_compat_get_task_request(request, _NO_ID))
        return await self._rpc.call("tasks/get", params, context, _task)

    async def cancel_task(
        self, request: CancelTaskRequest, *, context: ClientCallContext | None = None
    ) -> Task:
        """Cancel a task."""
        params = _params(conversions.to_compat_cancel_task_request(request, _NO_ID))
        return await self._rpc.call("tasks/cancel", params, context, _task)


def _send_params(request: SendMessageRequest) -> dict[str, Any]:
    return _params(conversions.to_compat_send_message_request(request, _NO_ID))


def _params(request: Any) -> dict[str, Any]:
    """Return the params of one of a2a-sdk's requests, whole numbers as they came."""
    dumped = request.params.model_dump(by_alias=True, exclude_none=True, mode="json")
    params: dict[str, Any] = whole_numbers(dumped)
    return params


def _task(result: dict[str, Any]) -> Task:
    return conversions.to_core_task(_model(types.Task, result))


def _event(result: dict[str, Any]) -> StreamResponse:
    """Return an event; one of no known kind is empty, and told of in the log."""
    model = _EVENTS.get(_kind(result))
    if model is None:
        nearly.tell_unknown(result)
        return StreamResponse()
    answer = types.SendStreamingMessageSuccessResponse(result=_model(model, result))
    return conversions.to_core_stream_response(answer)


def _kind(result: dict[str, Any]) -> str:
    """Return what an event is; old servers leave `kind` out."""
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
        return kind.model_validate(nearly.dated(result))
    except ValidationError as error:
        place, what = violations(error)[0]
        raise RemoteAnswerError(
            f"the agent's answer is not A2A: {quote(what)} at {quote(place)}"
        ) from error
