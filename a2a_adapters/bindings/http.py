"""HTTP of all bindings: reading requests, making answers that may be large, naming extensions."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

from a2a.auth.user import UnauthenticatedUser
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.types import SendMessageRequest, Task
from a2a.utils.errors import ContentTypeNotSupportedError, JSONParseError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match, Route

from a2a_adapters.concurrency.threads import LARGE_BYTES, computed
from a2a_adapters.contract.caller import CALLER
from a2a_adapters.net.addresses import SHARE
from a2a_adapters.protocol.errors import ServerBusyError
from a2a_adapters.protocol.headers import HEADERS, V03, VERSION_STATE
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.security.body import BODY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from starlette.authentication import BaseUser
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from a2a_adapters.runtime import StreamingHandler
    from a2a_adapters.security.body import Body

JSON = "application/json"
A2A_JSON = "application/a2a+json"


T = TypeVar("T")


class HttpAgent:
    """An agent whose endpoints share the reading of requests and the making of answers.

    Parsing a large request takes many times its size in memory. Large requests are parsed one at a
    time off the event loop; until then only their bytes are held. `answers_bytes` limits the bytes
    of answers in transit. `context_header` names the conversation of messages without a context id.
    `previews` are draft versions that are also served.
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
            ClientDisconnect: The client disconnected.
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
    """Parse the body of a request as JSON, without keeping the body.

    Raises:
        ClientDisconnect: The client disconnected before it had sent everything.
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
    for key in ("auth", CALLER):
        if key in scope:
            state[key] = scope[key]
    return ServerCallContext(
        state=state,
        user=_owner(scope["user"]) if "user" in scope else _ANONYMOUS,
        requested_extensions=requested_extensions(headers),
    )


def _owner(user: BaseUser) -> Owner:
    return Owner(user.display_name, is_authenticated=user.is_authenticated)


_CACHED_BYTES = 32 * 1024 * 1024
SLICE_BYTES = 64 * 1024
"""Bytes passed to a connection at a time, since it buffers all that its client has not read."""


class Answers:
    """Makes the answers of one agent, and limits the bytes in transit.

    A large task is encoded once for all its readers, as long as it does not change. Shared bytes
    count once.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._cache: OrderedDict[tuple[int, object], tuple[Task, bytes]] = OrderedDict()
        self._cached_bytes = 0
        self._held: Counter[int] = Counter()
        self._held_bytes = 0

    def check_room(self, size: int) -> None:
        """Refuse a large answer before it is made.

        Raises:
            ServerBusyError: Too much is under way.
        """
        if size and self._held_bytes and self._held_bytes + size > self._limit:
            raise ServerBusyError

    async def respond(
        self,
        encode: Callable[[Any], bytes],
        result: Any,
        media_type: str,
        head: bytes = b"",
        tail: bytes = b"",
    ) -> Response:
        """Return the answer to a call: head, JSON and tail.

        Args:
            encode: Encodes the result as JSON; the result must no longer change.
            result: The result.
            media_type: The media type of the answer.
            head: Precedes the JSON.
            tail: Follows the JSON.

        Raises:
            ServerBusyError: Too much is under way to slow clients.
        """
        size = 0 if result is None else result.ByteSize()
        if size <= LARGE_BYTES:
            return Response(head + encode(result) + tail, media_type=media_type)
        if id(result) not in self._held and self._held_bytes + size > self._limit:
            raise ServerBusyError
        self.hold(result, size)  # while it waits for its turn
        try:
            body = await computed(self._encoded, encode, result)
        finally:
            self.release(result, size)
        return _LargeResponse(self, body, [head, body, tail], media_type)

    def _encoded(self, encode: Callable[[Any], bytes], result: Any) -> bytes:
        key = (id(result), encode)
        known = self._cache.get(key)
        if known is not None and known[0] is result:
            return known[1]
        body = encode(result)
        if isinstance(result, Task):
            self._keep(key, result, body)
        return body

    def _keep(self, key: tuple[int, object], task: Task, body: bytes) -> None:
        self._cache[key] = task, body
        self._cached_bytes += len(body)
        while self._cached_bytes > _CACHED_BYTES:
            _, (_, oldest) = self._cache.popitem(last=False)
            self._cached_bytes -= len(oldest)

    def hold(self, content: object, size: int) -> None:
        """Count an answer that is being made or sent."""
        self._held[id(content)] += 1
        if self._held[id(content)] == 1:
            self._held_bytes += size

    def release(self, content: object, size: int) -> None:
        """Undo `hold`."""
        self._held[id(content)] -= 1
        if not self._held[id(content)]:
            del self._held[id(content)]
            self._held_bytes -= size


class _LargeResponse(Response):
    """Sends shared pieces without copying the whole."""

    def __init__(
        self, answers: Answers, body: bytes, pieces: Sequence[bytes], media_type: str
    ) -> None:
        super().__init__(media_type=media_type)
        self.headers["content-length"] = str(sum(map(len, pieces)))
        self._answers = answers
        self._body = body
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the answer (ASGI)."""
        start = {"status": self.status_code, "headers": self.raw_headers}
        self._answers.hold(self._body, len(self._body))
        try:
            await send({"type": "http.response.start", **start})
            for piece in slices(self._pieces):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._answers.release(self._body, len(self._body))


def slices(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the pieces in slices of at most `SLICE_BYTES`; small ones are joined."""
    small: list[bytes] = []
    size = 0
    for piece in pieces:
        if size + len(piece) > SLICE_BYTES and small:
            yield b"".join(small)
            small.clear()
            size = 0
        if len(piece) < SLICE_BYTES:
            small.append(piece)
            size += len(piece)
            continue
        for start in range(0, len(piece), SLICE_BYTES):
            yield piece[start : start + SLICE_BYTES]
    if small:
        yield b"".join(small)
