"""Checks of error codes, messages and HTTP statuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters_check.interfaces import CALL_ID, CANCEL, GET, REST, RPC, Operation
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.operations import ERROR_INFO, call, outcome
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.interfaces import Interface
    from a2a_adapters_check.operations import Outcome
    from a2a_adapters_check.subject import Subject

_NOTHING = Operation("NoSuchMethod", "no/such/method", "GET", "/no-such-path")
_NOT_FOUND, _NO_METHOD, _BAD_PARAMS = -32001, -32601, -32602
_NO_JSON, _BAD_REQUEST, _NO_VERSION = -32700, -32600, -32009


@check(
    "error.unknown-task",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.3 and 5.4",
    remedy="Answer with TaskNotFoundError: -32001 over JSON-RPC, HTTP 404 over HTTP+JSON.",
)
async def unknown_task(subject: Subject) -> AsyncIterator[Fault]:
    """Getting an unknown task fails with TaskNotFoundError."""
    for each in await subject.answering():
        reply = await subject.unknown_task(each)
        is_right = reply.code == _NOT_FOUND
        if each.binding == REST:
            is_right = reply.answer.status == 404
        if not is_right:
            yield Fault(
                f"{each.name} answers GetTask of an unknown task with {reply.summary}", each.where
            )


@check(
    "error.unknown-task-cancel",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.5 and 5.4",
    remedy="Answer CancelTask for an unknown task with TaskNotFoundError.",
    sends=True,
    is_last=True,
)
async def unknown_task_cancel(subject: Subject) -> AsyncIterator[Fault]:
    """Cancelling an unknown task fails with TaskNotFoundError."""
    for each in await subject.current():
        reply = await subject.ask(each, CANCEL, id=await subject.unknown_id())
        if reply.code != _NOT_FOUND and not (each.binding == REST and reply.answer.status == 404):
            yield Fault(
                f"{each.name} answers CancelTask of an unknown task with {reply.summary}",
                each.where,
            )


@check(
    "error.unknown-method",
    Severity.ERROR,
    clause="A2A 1.0.1, 9.5",
    remedy="Answer unknown methods with the error -32601.",
)
async def unknown_method(subject: Subject) -> AsyncIterator[Fault]:
    """An unknown method is reported as not found."""
    for each in await subject.answering():
        reply = await subject.ask(each, _NOTHING)
        if each.binding == RPC and reply.code != _NO_METHOD:
            yield _answered(each, "an unknown method", reply)


@check(
    "error.no-json",
    Severity.ERROR,
    clause="A2A 1.0.1, 9.5 and 3.3.2",
    remedy="Answer with the error -32700 over JSON-RPC, with HTTP 400 over HTTP+JSON.",
)
async def no_json(subject: Subject) -> AsyncIterator[Fault]:
    """Invalid JSON is refused."""
    for each in await subject.answering():
        reply = await subject.broken(each)
        is_right = reply.code == _NO_JSON
        if each.binding == REST:
            is_right = reply.answer.status in {400, 415, 422}
        if not is_right:
            yield _answered(each, "invalid JSON", reply)


@check(
    "error.no-request",
    Severity.WARNING,
    clause="A2A 1.0.1, 9.5",
    remedy="Answer with the error -32600.",
)
async def no_request(subject: Subject) -> AsyncIterator[Fault]:
    """JSON that is not a request is refused."""
    for each in await subject.answering():
        if each.binding == RPC:
            sent = {"jsonrpc": "2.0", "id": CALL_ID}
            answer = await subject.http.ask("POST", each.url, headers=each.headers(), json=sent)
            reply = outcome(each, answer)
            if reply.code != _BAD_REQUEST:
                yield Fault(
                    f"{each.name} answers JSON that is not a request with {reply.summary}",
                    each.where,
                )


@check(
    "error.params",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.3.2 and 9.5",
    remedy="Validate params first; answer invalid ones with the error -32602.",
)
async def params(subject: Subject) -> AsyncIterator[Fault]:
    """Params of the wrong type are refused."""
    for each in await subject.current():
        if each.binding == RPC:
            reply = await call(subject.http, each, GET, {"id": {"not": "an id"}})
            if reply.code != _BAD_PARAMS:
                yield Fault(
                    f"{each.name} answers GetTask with an object as id with {reply.summary}",
                    each.where,
                )


@check(
    "error.version",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.6.2",
    remedy="Compare A2A-Version with the versions served; answer other versions with "
    "VersionNotSupportedError, -32009 or HTTP 400.",
)
async def version(subject: Subject) -> AsyncIterator[Fault]:
    """An unsupported protocol version is refused."""
    for each in await subject.current():
        reply = await call(
            subject.http, each, GET, {"id": await subject.unknown_id()}, version="99.0"
        )
        is_right = reply.code == _NO_VERSION
        if each.binding == REST:
            is_right = is_right or (reply.code is None and reply.answer.status == 400)
        if not is_right:
            yield _answered(each, "A2A-Version: 99.0", reply)


@check(
    "error.shape",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.3.2",
    remedy="Send a numeric code and a text message with every error.",
)
async def shape(subject: Subject) -> AsyncIterator[Fault]:
    """Errors have a code and a message."""
    for each in await subject.answering():
        error = (await subject.unknown_task(each)).error
        if error is None:
            continue
        if not isinstance(error.get("code"), int) or isinstance(error.get("code"), bool):
            yield Fault(f"the code of an error is {error.get('code')!r}", each.where)
        if not isinstance(error.get("message"), str) or not error["message"]:
            yield Fault("an error has no message", each.where)


@check(
    "error.details",
    Severity.WARNING,
    clause="A2A 1.0.1, 9.5 and 11.6",
    remedy="Send details as a list of objects with @type; over HTTP+JSON with an ErrorInfo that "
    "names the reason.",
)
async def details(subject: Subject) -> AsyncIterator[Fault]:
    """Error details declare their type."""
    for each in await subject.current():
        reply = await subject.unknown_task(each)
        if reply.error is None:
            continue
        given = reply.error.get("details" if each.binding == REST else "data")
        if given is not None and not isinstance(given, list):
            yield Fault(f"{each.name} sends error details that are not a list", each.where)
        if any(not isinstance(item, dict) or "@type" not in item for item in reply.details):
            yield Fault(f"{each.name} sends an error detail without @type", each.where)
        elif each.binding == REST and not _reason(reply):
            yield Fault(f"{each.name} sends an error without a reason", each.where)


@check(
    "error.status",
    Severity.WARNING,
    clause="A2A 1.0.1, 11.6 and 5.4",
    remedy="Over HTTP+JSON, send the error's code as HTTP status; over JSON-RPC, avoid 5xx.",
)
async def status(subject: Subject) -> AsyncIterator[Fault]:
    """HTTP statuses match the error codes."""
    for each in await subject.current():
        reply = await subject.unknown_task(each)
        if reply.error is None:
            continue
        if each.binding == REST and reply.error.get("code") != reply.answer.status:
            sent = f"with HTTP {reply.answer.status} and the code {reply.error.get('code')}"
            yield Fault(f"{each.name} answers GetTask of an unknown task {sent}", each.where)
        if each.binding == RPC and reply.answer.status >= 500:
            sent = f"with HTTP {reply.answer.status}"
            yield Fault(f"{each.name} answers GetTask of an unknown task {sent}", each.where)


def _answered(each: Interface, request: str, reply: Outcome) -> Fault:
    return Fault(f"{each.name} answers {request} with {reply.summary}", each.where)


def _reason(reply: Outcome) -> str:
    return next(
        (
            str(item["reason"])
            for item in reply.details
            if isinstance(item, dict) and item.get("@type") == ERROR_INFO and item.get("reason")
        ),
        "",
    )
