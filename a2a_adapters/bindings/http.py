"""What the bindings over HTTP have in common: reading JSON, naming extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.extensions.common import HTTP_EXTENSION_HEADER
from a2a.utils.errors import ContentTypeNotSupportedError, JSONParseError
from pydantic_core import from_json

from a2a_adapters.bindings.caller import OLD_EXTENSION_HEADER
from a2a_adapters.bindings.versions import V03, VERSION_STATE
from a2a_adapters.headers import headers_of

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters.runtime import Runtime

JSON = "application/json"
A2A_JSON = "application/a2a+json"


def name_extensions(response: Response, runtime: Runtime, context: ServerCallContext) -> None:
    """Tell a client which of the extensions it asked for are active."""
    if context.requested_extensions:
        activated = runtime.extensions.activated(context.requested_extensions)
        is_old = context.state[VERSION_STATE] == V03
        name = OLD_EXTENSION_HEADER if is_old else HTTP_EXTENSION_HEADER
        if activated:
            response.headers[name] = ", ".join(activated)


async def read_json(request: Request) -> object:
    """Return the request's body.

    Raises:
        ContentTypeNotSupportedError: It is not labelled as JSON.
        JSONParseError: It is not JSON.
    """
    check_content_type(request)
    try:
        return from_json(await request.body(), allow_inf_nan=False)
    except ValueError as error:
        raise JSONParseError from error


def check_content_type(request: Request) -> None:
    """Refuse a body that is not JSON.

    Any page in a user's browser can send a form or plain text to this server, or a body without
    a type, but JSON only if the server allows it (CORS). A browser always tells the `Origin`, so
    other clients may omit the type.

    Raises:
        ContentTypeNotSupportedError: The body is something else.
    """
    headers = headers_of(request.scope)
    value = headers.get("content-type")
    if value == JSON:
        return
    media_type = (value or "").partition(";")[0].strip().lower()
    if media_type in (JSON, A2A_JSON) or (not value and "origin" not in headers):
        return
    raise ContentTypeNotSupportedError("the Content-Type of a request is application/json")
