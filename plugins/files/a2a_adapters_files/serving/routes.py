"""The routes for uploads and downloads of a `FileStore`."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from functools import wraps
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from a2a.utils.errors import ContentTypeNotSupportedError, JSONParseError
from obstore.exceptions import BaseError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from a2a_adapters import InvalidInputError
from a2a_adapters.dialects import DialectRoutes, log_failure, read_json
from a2a_adapters_files.serving.links import PATH, FileId, safe_name
from a2a_adapters_files.serving.objects import PART_BYTES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from a2a_adapters.dialects import DialectServer
    from a2a_adapters_files.serving.store import FileStore

_PIECES = 16
"""Maximum number of pieces being received, all of them in memory."""

_OWN_PIECES = 8
"""Maximum number of an owner's pieces, so that others can send as well."""

_PIECE_SECONDS = 60.0
_ANY_TYPE = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+( ?; ?[ -~]+)?", re.ASCII)
_SIZE = re.compile(r"\d{1,15}", re.ASCII)
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)

_HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": "private, no-store",
    # A browser that opens the link neither runs the file nor tells other sites the link.
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Upload(BaseModel):
    model_config = ConfigDict(strict=True)

    size: int = Field(gt=0)
    filename: str = Field(default="", max_length=1000)
    media_type: str = Field(default=_ANY_TYPE, max_length=200)


def file_routes(store: FileStore, server: DialectServer) -> DialectRoutes:
    """Return the routes for uploads and downloads.

    Signed links need no credentials; only the request for an upload has to be authenticated.
    """
    files = _Files(store, server)
    store.use_address(server.url)
    paths = {f"{agent.path}files" for agent in server.agents.values()}
    return DialectRoutes(
        cards=[
            Route(PATH + "/{id}/{part:int}", files.receive, methods=["PUT"]),
            Route(PATH + "/{id}/{name}", files.send, methods=["GET"]),  # and HEAD
        ],
        calls=[Route(path, files.begin, methods=["POST"]) for path in sorted(paths)],
    )


_Answer: TypeAlias = "Callable[[_Files, Request], Awaitable[Response]]"


def _if_available(answer: _Answer) -> _Answer:
    """Refuse a request if the place of the files fails; the details are only logged."""

    @wraps(answer)
    async def answered(files: _Files, request: Request) -> Response:
        try:
            return await answer(files, request)
        except (OSError, BaseError) as error:
            error_id = log_failure("a file cannot be read or written", error)
            text = f"files are not available at the moment; error id: {error_id}"
            return _refusal(503, text, {"Retry-After": "5"})

    return answered


class _Files:
    def __init__(self, store: FileStore, server: DialectServer) -> None:
        self._store = store
        self._server = server
        self._receiving: Counter[str] = Counter()
        """The pieces being received, by owner."""

    @_if_available
    async def begin(self, request: Request) -> Response:
        """Answer the request for an upload with its links."""
        store = self._store
        try:
            asked = _Upload.model_validate(await read_json(request))
        except (ContentTypeNotSupportedError, JSONParseError) as error:
            return _refusal(400, error.message)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(map(str, first["loc"]))
            return _refusal(400, f"{place}: {first['msg']}" if place else first["msg"])
        owner = self._server.caller(request).user.user_name
        file_id = store.links.new_id(owner, store.expiry_seconds)
        name = safe_name(asked.filename)
        try:
            await store.reserve(file_id, asked.size, name, asked.media_type)
        except InvalidInputError as error:
            return _refusal(413, str(error))
        base = store.base(request.scope)
        answer = {
            "url": store.links.download(base, file_id, name),
            "upload": store.links.upload(base, file_id, asked.size),
            "part_bytes": PART_BYTES,
        }
        return JSONResponse(answer, 201)

    @_if_available
    async def receive(self, request: Request) -> Response:
        """Store a piece of an upload."""
        file_id = FileId.parse(request.path_params["id"])
        number, query = request.path_params["part"], request.query_params
        size = int(query["size"]) if _SIZE.fullmatch(query.get("size", "")) else 0
        signature = query.get("signature", "")
        if file_id is None or not self._store.links.may_write(file_id, size, signature):
            return _refusal(404, "there is no such upload")
        if file_id.is_expired:
            return _refusal(410, "the upload has expired")
        length = min(PART_BYTES, size - number * PART_BYTES)
        if length > 0 and "content-length" not in request.headers:
            return _refusal(411, f"a part needs the header Content-Length: {length}")
        if length <= 0 or request.headers.get("content-length") != str(length):
            return _refusal(400, f"part {number} of this file has {max(0, length)} bytes")
        return await self._receive(request, file_id, number)

    async def _receive(self, request: Request, file_id: FileId, number: int) -> Response:
        receiving, owner = self._receiving, file_id.owner
        if receiving[owner] >= _OWN_PIECES or receiving.total() >= _PIECES:
            busy = "the server receives many files at the moment; try again later"
            return _refusal(503, busy, {"Retry-After": "1"})
        receiving[owner] += 1
        try:
            piece = bytearray()
            try:
                async with asyncio.timeout(_PIECE_SECONDS):
                    async for chunk in request.stream():
                        piece += chunk
            except TimeoutError:
                return _refusal(408, "the part did not arrive in time", {"Connection": "close"})
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it
            await self._store.objects.write(file_id, number, memoryview(piece))
        finally:
            receiving[owner] -= 1
            if not receiving[owner]:
                del receiving[owner]
        return Response(status_code=204)

    @_if_available
    async def send(self, request: Request) -> Response:
        """Answer with a file, or the requested range of it."""
        store = self._store
        file_id = FileId.parse(request.path_params["id"])
        signature = request.query_params.get("signature", "")
        if file_id is None or not store.links.may_read(file_id, signature):
            return _refusal(404, "there is no such file")
        if file_id.is_expired:
            return _refusal(410, "the file has expired")
        stored = await store.objects.find(file_id)
        if stored is None:
            return _refusal(404, "there is no such file")
        # Files have no validator, so that none can match `If-Range`.
        asked = "" if "if-range" in request.headers else request.headers.get("range", "")
        start, end = 0, stored.size
        is_valid = _MEDIA_TYPE.fullmatch(stored.media_type)
        headers = {
            **_HEADERS,
            # As a header, because Starlette adds a charset to the media type of texts.
            "Content-Type": stored.media_type if is_valid else _ANY_TYPE,
            "Content-Disposition": _disposition(stored.name),
        }
        status = 200
        if found := _RANGE.fullmatch(asked):
            start, end = _range(found[1], found[2], stored.size)
            if start >= end:
                headers["Content-Range"] = f"bytes */{stored.size}"
                return _refusal(416, "the file has no such range", headers)
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{stored.size}"
            status = 206
        headers["Content-Length"] = str(end - start)
        if request.method == "HEAD":
            return Response(status_code=status, headers=headers)
        return StreamingResponse(store.objects.read(stored, start, end), status, headers)


def _range(first: str, last: str, size: int) -> tuple[int, int]:
    """Return the first byte and the end of a range (RFC 9110, section 14.1.2); equal if invalid."""
    if not first:
        return (max(0, size - int(last)), size) if last else (0, 0)
    return int(first), min(size, int(last) + 1) if last else size


def _disposition(name: str) -> str:
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


def _refusal(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": status, "message": text}}, status, headers)
