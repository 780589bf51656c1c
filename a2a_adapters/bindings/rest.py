"""The HTTP+JSON binding (A2A 1.0, section 11), and that of A2A 0.3 under `/v1`.

a2a-sdk 1.3 answers bodies that are not UTF-8 with 500, cuts streams of 0.3 off instead of
sending an error, cannot delete 0.3's push notification configs, and labels errors with another
media type than the specification.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from a2a.utils.errors import A2AError, InvalidParamsError, InvalidRequestError
from google.protobuf.descriptor import FieldDescriptor
from pydantic_core import to_json
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from a2a_adapters.bindings import preview
from a2a_adapters.bindings.http import A2A_JSON, JSON, caller_of, check_content_type, parse_json
from a2a_adapters.bindings.operations import METHODS, Method, Params
from a2a_adapters.bindings.sse import EventStream
from a2a_adapters.bindings.v03_rest import CALLS as V03_CALLS
from a2a_adapters.bindings.v03_rest import CONFIGS_PATH, Calls
from a2a_adapters.observability.failures import hidden
from a2a_adapters.protocol import errors as failures
from a2a_adapters.protocol.encoding import one_line
from a2a_adapters.protocol.headers import (
    HEADERS,
    V03,
    V1,
    V11,
    VERSION_STATE,
    requested_version,
    unsupported,
)
from a2a_adapters.protocol.parsing import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from google.protobuf.message import Message
    from starlette.types import Receive, Scope, Send

    from a2a_adapters.bindings.http import HttpAgent

_V1: Calls = {
    "/message:send": {"POST": METHODS["SendMessage"]},
    "/message:stream": {"POST": METHODS["SendStreamingMessage"]},
    "/tasks": {"GET": METHODS["ListTasks"]},
    "/tasks/{id}:cancel": {"POST": METHODS["CancelTask"]},
    # The specification's text has POST, its protobuf schema GET.
    "/tasks/{id}:subscribe": dict.fromkeys(("GET", "POST"), METHODS["SubscribeToTask"]),
    "/tasks/{id}": {"GET": METHODS["GetTask"]},
    CONFIGS_PATH: {
        "GET": METHODS["ListTaskPushNotificationConfigs"],
        "POST": METHODS["CreateTaskPushNotificationConfig"],
    },
    CONFIGS_PATH + "/{id:path}": {
        "GET": METHODS["GetTaskPushNotificationConfig"],
        "DELETE": METHODS["DeleteTaskPushNotificationConfig"],
    },
    "/extendedAgentCard": {"GET": METHODS["GetExtendedAgentCard"]},
}


def rest_routes(agent: HttpAgent) -> list[BaseRoute]:
    """Return the routes of both versions; those of 1.0 also for tenants."""
    groups = (("", _V1, V1), ("/v1", V03_CALLS, V03), ("/{tenant}", _V1, V1))
    routes: list[BaseRoute] = []
    for prefix, calls, version in groups:
        for path, verbs in calls.items():
            endpoint = _Endpoint(verbs, version, agent)
            routes += [Route(f"{prefix}{path}{slash}", endpoint) for slash in ("", "/")]
    return routes


class _Endpoint:
    """Answers the calls of one path, by HTTP method, in one version of the protocol."""

    def __init__(self, verbs: Mapping[str, Method], version: str, agent: HttpAgent) -> None:
        self._verbs = verbs
        self._version = version
        self._media_type = A2A_JSON if version == V1 else JSON
        self._agent = agent

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
            if (version := self._version_of(request)) == V11:
                method = preview.METHODS[method.operation.name]
            params = await self._params(method, request)
            return await self._answer(method, version, params, request)
        except ClientDisconnect:
            raise
        except Exception as error:
            return self._refusal(hidden(error, method.operation.name))

    def _version_of(self, request: Request) -> str:
        previews = self._agent.previews
        version = requested_version(request, previews)
        if version != self._version and (version not in previews or self._version == V03):
            raise unsupported(f"this address serves A2A {self._version}", previews)
        return version

    async def _params(self, method: Method, request: Request) -> Any:
        if request.method != "POST":
            return parsed(method.parse, _query(method, request) | request.path_params)
        check_content_type(request.scope[HEADERS])
        read = partial(_read, method.parse, request.path_params)
        return await self._agent.read(request.scope, read)

    async def _answer(
        self, method: Method, version: str, params: Any, request: Request
    ) -> Response:
        context = caller_of(request)
        if params.tenant:
            context.tenant = params.tenant
        context.state[VERSION_STATE] = version
        if self._agent.context_header:
            self._agent.name_context(params, request.scope[HEADERS])
        self._agent.answers.check_room(method.operation.large_bytes)
        result = await method.operation.of(self._agent.runtime)(params, context)
        response = await self._respond(method, result)
        if context.requested_extensions:
            self._agent.name_extensions(response, context)
        return response

    async def _respond(self, method: Method, result: Any) -> Response:
        if not method.operation.streams:
            return await self._agent.answers.respond(method.encode, result, self._media_type)
        frame = method.frame(b"data: ", method.encode, b"\n\n")
        return await EventStream.open(result, frame, _frame_error)

    def _refusal(self, error: A2AError) -> Response:
        status = failures.mapping(error).http_code
        body = to_json(failures.http_error(error))
        headers = failures.retry_headers(error)
        return Response(body, status, headers, media_type=self._media_type)

    def _wrong_verb(self) -> Response:
        allowed = ", ".join(sorted(self._verbs))
        error = InvalidRequestError(f"this address takes {allowed}")
        body = failures.http_error(error)
        body["error"]["code"] = 405
        return Response(to_json(body), 405, {"Allow": allowed}, media_type=self._media_type)


def _read(parse: Callable[[Params], Message], in_path: Params, body: bytes) -> Any:
    """Return the request in a body and a path."""
    params = parse_json(body) if body else {}
    if not isinstance(params, dict):
        raise InvalidParamsError("the body must be an object")
    return parsed(parse, params | in_path)


def _query(method: Method, request: Request) -> Params:
    """Return the query parameters that the method knows (section 11.5)."""
    params: Params = {}
    for field in method.operation.params.DESCRIPTOR.fields:
        values = request.query_params.getlist(field.camelcase_name)
        if not values:
            continue
        value: Any = values[-1]
        if field.type == FieldDescriptor.TYPE_BOOL and value in ("true", "false"):
            value = value == "true"
        params[field.camelcase_name] = value
    given = request.query_params
    return params | {name: given[name] for name in method.parameters if name in given}


def _frame_error(error: A2AError) -> bytes:
    return b"event: error\ndata: " + one_line(failures.http_error(error)) + b"\n\n"
