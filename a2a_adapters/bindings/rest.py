"""The HTTP+JSON binding (A2A 1.0, section 11), and its forerunner of A2A 0.3 under `/v1`.

a2a-sdk 1.3 answers bodies that are not UTF-8 by 500, cuts streams of 0.3 off where an error
is due, has no way to delete 0.3's push notification configurations, and labels errors as
another media type than the specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from a2a.utils.errors import A2AError, InvalidParamsError, InvalidRequestError
from google.protobuf.descriptor import FieldDescriptor
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from a2a_adapters.bindings import v03_rest
from a2a_adapters.bindings.http import (
    A2A_JSON,
    JSON,
    check_content_type,
    name_extensions,
    parse_json,
)
from a2a_adapters.bindings.methods import METHODS, Method, Params, parsed
from a2a_adapters.bindings.sse import EventStream, Frame
from a2a_adapters.net.headers import HEADERS
from a2a_adapters.protocol import errors as failures
from a2a_adapters.protocol.versions import (
    V03,
    V1,
    VERSION_STATE,
    requested_version,
    unsupported,
)
from a2a_adapters.protocol.wire import one_line
from a2a_adapters.runtime.guard import hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from a2a.server.routes.common import ServerCallContextBuilder
    from google.protobuf.message import Message
    from starlette.types import Receive, Scope, Send

    from a2a_adapters.bindings.answers import Answers
    from a2a_adapters.bindings.intake import Intake
    from a2a_adapters.bindings.operations import Operation
    from a2a_adapters.runtime import Runtime

_CONFIGS = "/tasks/{taskId}/pushNotificationConfigs"

Calls = dict[str, dict[str, Method]]
"""By path, and then by the verb of HTTP."""

_V1: Calls = {
    "/message:send": {"POST": METHODS["SendMessage"]},
    "/message:stream": {"POST": METHODS["SendStreamingMessage"]},
    "/tasks": {"GET": METHODS["ListTasks"]},
    "/tasks/{id}:cancel": {"POST": METHODS["CancelTask"]},
    # The specification's text has POST, its protobuf schema GET.
    "/tasks/{id}:subscribe": dict.fromkeys(("GET", "POST"), METHODS["SubscribeToTask"]),
    "/tasks/{id}": {"GET": METHODS["GetTask"]},
    _CONFIGS: {
        "GET": METHODS["ListTaskPushNotificationConfigs"],
        "POST": METHODS["CreateTaskPushNotificationConfig"],
    },
    _CONFIGS + "/{id:path}": {
        "GET": METHODS["GetTaskPushNotificationConfig"],
        "DELETE": METHODS["DeleteTaskPushNotificationConfig"],
    },
    "/extendedAgentCard": {"GET": METHODS["GetExtendedAgentCard"]},
}
_V03: Calls = {
    "/message:send": {"POST": v03_rest.SEND},
    "/message:stream": {"POST": v03_rest.STREAM},
    "/tasks": {"GET": v03_rest.LIST},
    "/tasks/{id}:cancel": {"POST": v03_rest.CANCEL},
    "/tasks/{id}:subscribe": dict.fromkeys(("GET", "POST"), v03_rest.SUBSCRIBE),
    "/tasks/{id}": {"GET": v03_rest.GET},
    _CONFIGS: {"GET": v03_rest.LIST_PUSH, "POST": v03_rest.CREATE_PUSH},
    _CONFIGS + "/{id:path}": {"GET": v03_rest.GET_PUSH, "DELETE": v03_rest.DELETE_PUSH},
    "/card": {"GET": v03_rest.EXTENDED_CARD},
}


def rest_routes(
    runtime: Runtime,
    context_builder: ServerCallContextBuilder,
    intake: Intake,
    answers: Answers,
) -> list[BaseRoute]:
    """Return the routes of both versions; those of 1.0 also for tenants.

    Args:
        runtime: What carries out the operations.
        context_builder: Tells who is calling.
        intake: Lets requests be read.
        answers: Makes the answers.
    """
    new, old = RestVersion(V1, A2A_JSON), RestVersion(V03, JSON)
    groups = (("", _V1, new), ("/v1", _V03, old), ("/{tenant}", _V1, new))
    routes: list[BaseRoute] = []
    for prefix, calls, version in groups:
        for path, verbs in calls.items():
            endpoint = RestEndpoint(verbs, version, runtime, context_builder, intake, answers)
            routes += [Route(f"{prefix}{path}{slash}", endpoint) for slash in ("", "/")]
    return routes


@dataclass(frozen=True, slots=True)
class RestVersion:
    """How one version of the protocol is spoken."""

    name: str
    media_type: str


class RestEndpoint:
    """Answers the calls of one path.

    Args:
        verbs: The calls by the verb of HTTP.
        version: Which version of the protocol they are of.
        runtime: What carries out the operations.
        context_builder: Tells who is calling.
        intake: Lets requests be read.
        answers: Makes the answers.
    """

    def __init__(
        self,
        verbs: Mapping[str, Method],
        version: RestVersion,
        runtime: Runtime,
        context_builder: ServerCallContextBuilder,
        intake: Intake,
        answers: Answers,
    ) -> None:
        self._intake = intake
        self._answers = answers
        self._verbs = verbs
        self._version = version
        self._runtime = runtime
        self._context_builder = context_builder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        request = Request(scope, receive, send)
        method = self._verbs.get(request.method)
        try:
            response = await self._handle(method, request) if method else self._wrong_verb()
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _handle(self, method: Method, request: Request) -> Response:
        try:
            return await self._answer(method, await self._params(method, request), request)
        except ClientDisconnect:
            raise
        except Exception as error:
            return self._refusal(hidden(error, method.operation.name))

    async def _params(self, method: Method, request: Request) -> Any:
        if requested_version(request) != self._version.name:
            raise unsupported(f"this address serves A2A {self._version.name}")
        if request.method != "POST":
            return parsed(method.parse, _query(method.operation, request) | request.path_params)
        check_content_type(request.scope[HEADERS])
        read = partial(_read, method.parse, request.path_params)
        return await self._intake.read(request.scope, read)

    async def _answer(self, method: Method, params: Any, request: Request) -> Response:
        context = self._context_builder.build(request)
        context.tenant = params.tenant
        context.state[VERSION_STATE] = self._version.name
        self._answers.check_room(method.operation.large_bytes)
        result = await method.operation.run(self._runtime, params, context)
        response = await self._respond(method, result)
        if context.requested_extensions:
            name_extensions(response, self._runtime, context)
        return response

    async def _respond(self, method: Method, result: Any) -> Response:
        if not method.operation.streams:
            return await self._answers.respond(method.encode, result, self._version.media_type)
        frame = Frame(b"data: ", method.encode, b"\n\n")
        return await EventStream.open(result, frame, _frame_error)

    def _refusal(self, error: A2AError) -> Response:
        status = failures.mapping(error).http_code
        body = to_json(failures.http_error(error))
        headers = failures.retry_headers(error)
        return Response(body, status, headers, media_type=self._version.media_type)

    def _wrong_verb(self) -> Response:
        allowed = ", ".join(sorted(self._verbs))
        error = InvalidRequestError(f"this address takes {allowed}")
        body = failures.http_error(error)
        body["error"]["code"] = 405
        return Response(to_json(body), 405, {"Allow": allowed}, media_type=self._version.media_type)


def _read(parse: Callable[[Params], Message], in_path: Params, body: bytes) -> Any:
    """Return all that a request tells, in its body or its path."""
    params = parse_json(body) if body else {}
    if not isinstance(params, dict):
        raise InvalidParamsError("the body must be an object")
    return parsed(parse, params | in_path)


def _query(operation: Operation, request: Request) -> Params:
    """Return the query parameters that the operation knows (section 11.5)."""
    params: Params = {}
    for field in operation.params.DESCRIPTOR.fields:
        values = request.query_params.getlist(field.camelcase_name)
        if not values:
            continue
        value: Any = values[-1]
        if field.type == FieldDescriptor.TYPE_BOOL and value in ("true", "false"):
            value = value == "true"
        params[field.camelcase_name] = value
    return params


def _frame_error(error: A2AError) -> bytes:
    return b"event: error\ndata: " + one_line(failures.http_error(error)) + b"\n\n"
