"""Reading requests over HTTP, and naming extensions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from a2a.auth.user import UnauthenticatedUser
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import StarletteUser
from a2a.types import SendMessageRequest
from a2a.utils.errors import ContentTypeNotSupportedError, JSONParseError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route

from a2a_adapters.bindings.answers import Answers
from a2a_adapters.concurrency.threads import LARGE_BYTES, computed
from a2a_adapters.contract.caller import CALLER
from a2a_adapters.net.addresses import SHARE
from a2a_adapters.protocol.headers import HEADERS, V03, VERSION_STATE
from a2a_adapters.security.body import BODY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Scope

    from a2a_adapters.runtime import StreamingHandler
    from a2a_adapters.security.body import Body

JSON = "application/json"
A2A_JSON = "application/a2a+json"


T = TypeVar("T")


class HttpAgent:
    """An agent whose endpoints share how requests are read and answers made.

    A large request takes many times its size when it is parsed. Large ones are parsed one at a
    time off the event loop; until then only their bytes are held. `answers_bytes` limits the bytes
    of answers under way. `context_header` names the conversation of messages that do not. The
    drafted versions in `previews` are served as well.
    """

    def __init__(
        self,
        runtime: StreamingHandler,
        answers_bytes: int,
        context_header: str = "",
        previews: Collection[str] = (),
    ) -> None:
        self.runtime = runtime
        self.context_header = context_header.lower()
        self.previews = previews
        self.answers = Answers(answers_bytes)
        self._lock = asyncio.Lock()

    async def read(self, scope: Scope, convert: Callable[[bytes], T]) -> T:
        """Return `convert(body)`; the request does not keep its body.

        Raises:
            ClientDisconnect: The client has left.
        """
        body: Body = scope[BODY]
        if body.size <= LARGE_BYTES:
            return convert(body.take())
        try:
            async with self._lock:
                if await body.client_has_left():
                    raise ClientDisconnect
                return await computed(convert, body.content)
        finally:
            body.release()

    def name_context(self, params: object, headers: Mapping[str, str]) -> None:
        """Put a message that names neither a context nor a task into the header's conversation."""
        if isinstance(params, SendMessageRequest) and self.context_header in headers:
            message = params.message
            if not message.context_id and not message.task_id:
                message.context_id = headers[self.context_header]

    def name_extensions(self, response: Response, context: ServerCallContext) -> None:
        """Add the header that names the activated extensions."""
        if activated := self.runtime.admission.activated(context.requested_extensions):
            is_old = context.state[VERSION_STATE] == V03
            name = OLD_EXTENSION_HEADER if is_old else HTTP_EXTENSION_HEADER
            response.headers[name] = ", ".join(activated)


async def read_json(request: Request) -> object:
    """Return the JSON of a request, which does not keep its body.

    Raises:
        ClientDisconnect: The client has left before it had sent everything.
        ContentTypeNotSupportedError: It is not labelled as JSON.
        JSONParseError: It is not JSON.
    """
    check_content_type(request.scope[HEADERS])
    body: Body = request.scope[BODY]
    if body.size <= LARGE_BYTES:
        return parse_json(body.take())
    try:
        return await computed(parse_json, body.content)
    finally:
        body.release()


def parse_json(body: bytes) -> object:
    """Return the value of a JSON body.

    Raises:
        JSONParseError: It is not JSON.
    """
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise JSONParseError from error


def check_content_type(headers: Mapping[str, str]) -> None:
    """Refuse a body that is not JSON.

    A page in a user's browser can send a form, plain text, or a body without a type to this server,
    but JSON only if the server allows it (CORS). Browsers always send `Origin`, so other clients
    may omit the type.

    Raises:
        ContentTypeNotSupportedError: The body is something else.
    """
    value = headers.get("content-type")
    if value == JSON:
        return
    media_type = (value or "").partition(";")[0].strip().lower()
    if media_type in (JSON, A2A_JSON) or (not value and "origin" not in headers):
        return
    raise ContentTypeNotSupportedError("the Content-Type of a request is application/json")


OLD_EXTENSION_HEADER = "X-A2A-Extensions"
"""The header of A2A 0.3 that names extensions."""

EXTENSION_HEADERS = (HTTP_EXTENSION_HEADER.lower(), OLD_EXTENSION_HEADER.lower())
"""The headers of A2A 1.0 and 0.3 that name the extensions a client activates."""


def requested_extensions(headers: Mapping[str, str]) -> set[str]:
    """Return the extensions in the headers of a request, of either version."""
    if headers.keys().isdisjoint(EXTENSION_HEADERS):
        return set()
    return get_requested_extensions(
        [headers[name] for name in EXTENSION_HEADERS if name in headers]
    )


class PageRoute(Route):
    """A route of a web page, which matches only requests that accept HTML, as browsers' do."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether the route handles a request (Starlette's interface)."""
        if scope["type"] != "http" or "text/html" not in scope[HEADERS].get("accept", ""):
            return Match.NONE, {}
        return super().matches(scope)


_ANONYMOUS = UnauthenticatedUser()


def caller_of(request: Request) -> ServerCallContext:
    """Return the context of a call, as a2a-sdk's default builder does in twice the time."""
    scope = request.scope
    headers = scope[HEADERS]
    state: dict[str, object] = {"headers": headers, "scope": scope, SHARE: scope.get(SHARE, "")}
    state |= {key: scope[key] for key in ("auth", CALLER) if key in scope}
    return ServerCallContext(
        state=state,
        user=StarletteUser(scope["user"]) if "user" in scope else _ANONYMOUS,
        requested_extensions=requested_extensions(headers),
    )
