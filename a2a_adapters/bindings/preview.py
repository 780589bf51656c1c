"""The methods of A2A 1.1 as drafted, in JSON: those of 1.0 and the generations of tasks.

The draft is branch `dev-1.1` of the specification (section 3.2.7), merged by its pull request 1810.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from a2a.types import GetTaskRequest, Task
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.wrappers_pb2 import Int64Value
from pydantic_core import to_json
from starlette.requests import ClientDisconnect

from a2a_adapters.bindings import operations
from a2a_adapters.bindings.operations import Method, Params, encode_page
from a2a_adapters.bindings.sse import Frame
from a2a_adapters.protocol.encoding import message_to_dict, one_line, task_to_dict
from a2a_adapters.protocol.generation import drafted, set_drafted
from a2a_adapters.protocol.parsing import parse_request, parse_send
from a2a_adapters.runtime.updates import TextUpdate, event_to_dict
from a2a_adapters.security.body import BODY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.server.events import Event
    from a2a.types import ListTasksResponse, SendMessageRequest

    from a2a_adapters.runtime import StreamingHandler
    from a2a_adapters.runtime.updates import AnyUpdate
    from a2a_adapters.security.body import Body

_GENERATION = "generation"
_CURRENT = "currentGeneration"
_EXPECTED = "ifGenerationMatch"
_SNAKE = {_CURRENT: "current_generation", _EXPECTED: "if_generation_match"}
"""The names in protobuf, which ProtoJSON allows as well."""


def _parse_get(params: Params) -> GetTaskRequest:
    rest, known = _without(params, _CURRENT)
    request = parse_request(rest, GetTaskRequest)
    if known is not None:
        set_drafted(request, known)
    return request


def _parse_send(params: Params) -> SendMessageRequest:
    configuration = params.get("configuration")
    if not isinstance(configuration, dict):
        return parse_send(params)
    rest, expected = _without(configuration, _EXPECTED)
    request = parse_send({**params, "configuration": rest})
    if expected is not None:
        set_drafted(request.configuration, expected)
    return request


def _without(params: Params, name: str) -> tuple[Params, int | None]:
    """Return JSON without a drafted field, and the field's value.

    Raises:
        google.protobuf.json_format.ParseError: It is not an integer of 64 bits.
    """
    names = (name, _SNAKE[name])
    given = [params[each] for each in names if params.get(each) is not None]
    rest = {key: value for key, value in params.items() if key not in names}
    if not given:
        return rest, None
    try:
        return rest, ParseDict(given[-1], Int64Value()).value
    except (ParseError, TypeError, ValueError) as error:
        raise ParseError(f"{name} is not an integer of 64 bits") from error


def _numbered(task: Task) -> dict[str, Any]:
    # Tasks that were begun without the preview have no number yet.
    return {**task_to_dict(task), _GENERATION: str(drafted(task) or 1)}


def _encode_task(task: Task) -> bytes:
    return to_json(_numbered(task))


def _encode_sent(result: Task | Any) -> bytes:
    if isinstance(result, Task):
        return to_json({"task": _numbered(result)})
    return to_json({"message": message_to_dict(result)})


def _encode_page(page: ListTasksResponse) -> bytes:
    return encode_page(page, _numbered)


def _encode_update(update: AnyUpdate) -> bytes:
    if isinstance(update, TextUpdate):
        return b'%b,"generation":"%d"}}' % (update.json()[:-2], update.generation)
    return update.once(_encode_event)


def _encode_event(event: Event) -> bytes:
    shown = event_to_dict(event)
    if (generation := drafted(event)) is not None:
        for member in shown.values():
            member[_GENERATION] = str(generation)
    return one_line(shown)


class _NumberedFrame(Frame):
    """Frames updates as events whose ids are generations; see `runtime.generations.resume`."""

    __slots__ = ()

    async def pieces(self, updates: Sequence[AnyUpdate]) -> list[bytes]:
        """Return the bytes of the updates, in pieces that may be shared."""
        pieces = []
        for update in updates:
            if update.generation:
                pieces.append(b"id: %d\n" % update.generation)
            pieces += await Frame.pieces(self, [update])
        return pieces


async def _get(
    runtime: StreamingHandler, params: GetTaskRequest, context: ServerCallContext
) -> Task | None:
    """Return a task; stop waiting for its change when the client leaves.

    Raises:
        ClientDisconnect: The client disconnected.
    """
    answer = runtime.on_get_task(params, context)
    if drafted(params) is None:
        return await answer
    body: Body = context.state["scope"][BODY]
    waiting, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(body.left())
    try:
        await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            raise ClientDisconnect
        return waiting.result()
    finally:
        waiting.cancel()
        leaving.cancel()


def _get_of(runtime: StreamingHandler) -> Callable[..., Awaitable[Task | None]]:
    return partial(_get, runtime)


_1_0 = operations.METHODS
_GET = replace(operations.GET, of=_get_of)

METHODS = _1_0 | {
    "SendMessage": Method(operations.SEND, _parse_send, _encode_sent),
    "SendStreamingMessage": Method(
        operations.STREAM, _parse_send, _encode_update, frame=_NumberedFrame
    ),
    "GetTask": Method(_GET, _parse_get, _encode_task, parameters=(_CURRENT,)),
    "ListTasks": replace(_1_0["ListTasks"], encode=_encode_page),
    "CancelTask": replace(_1_0["CancelTask"], encode=_encode_task),
    "SubscribeToTask": replace(
        _1_0["SubscribeToTask"], encode=_encode_update, frame=_NumberedFrame
    ),
}
"""The methods of A2A 1.1 by name."""
