"""Whether the agent's errors are those that clients know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters_check.interfaces import CALL_ID, CANCEL, GET, REST, RPC, Operation
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.operations import ERROR_INFO, call, outcome
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.operations import Outcome
    from a2a_adapters_check.subject import Subject

_NOTHING = Operation("NoSuchMethod", "no/such/method", "GET", "/no-such-path")
_NOT_FOUND, _NO_METHOD, _BAD_PARAMS = -32001, -32601, -32602
_NO_JSON, _BAD_REQUEST, _NO_VERSION = -32700, -32600, -32009


@check(
    "error.unknown-task",
    Severity.ERROR,
    "A task that is not there is not found",
    clause="A2A 1.0.1, 3.1.3 and 5.4",
    remedy="Answer TaskNotFoundError: -32001 over JSON-RPC, HTTP 404 over HTTP+JSON.",
)
async def unknown_task(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of other answers to GetTask for an id of nobody's task."""
    for each in await subject.answering():
        told = await subject.unknown_task(each)
        is_right = told.code == _NOT_FOUND
        if each.binding == REST:
            is_right = told.answer.status == 404
        if not is_right:
            yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "error.unknown-task-cancel",
    Severity.ERROR,
    "A task that is not there cannot be cancelled",
    clause="A2A 1.0.1, 3.1.5 and 5.4",
    remedy="Answer CancelTask by TaskNotFoundError if there is no such task.",
    sends=True,
    is_last=True,
)
async def unknown_task_cancel(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of other answers to CancelTask for an id of nobody's task."""
    for each in await subject.current():
        told = await subject.ask(each, CANCEL, id=await subject.unknown_id())
        if told.code != _NOT_FOUND and not (each.binding == REST and told.answer.status == 404):
            yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "error.unknown-method",
    Severity.ERROR,
    "A method that is not there is not found",
    clause="A2A 1.0.1, 9.5",
    remedy="Answer unknown methods by the error -32601.",
)
async def unknown_method(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of other answers to a method that nobody has."""
    for each in await subject.answering():
        told = await subject.ask(each, _NOTHING)
        if each.binding == RPC and told.code != _NO_METHOD:
            yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "error.no-json",
    Severity.ERROR,
    "What is no JSON is refused",
    clause="A2A 1.0.1, 9.5 and 3.3.2",
    remedy="Answer it by the error -32700 over JSON-RPC, by HTTP 400 over HTTP+JSON.",
)
async def no_json(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of other answers to half a request."""
    for each in await subject.answering():
        told = await subject.broken(each)
        is_right = told.code == _NO_JSON
        if each.binding == REST:
            is_right = told.answer.status in {400, 415, 422}
        if not is_right:
            yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "error.no-request",
    Severity.WARNING,
    "JSON that is no request is refused",
    clause="A2A 1.0.1, 9.5",
    remedy="Answer it by the error -32600.",
)
async def no_request(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of other answers to JSON without a method."""
    for each in await subject.answering():
        if each.binding == RPC:
            sent = {"jsonrpc": "2.0", "id": CALL_ID}
            answer = await subject.http.ask("POST", each.url, headers=each.headers(), json=sent)
            told = outcome(each, answer)
            if told.code != _BAD_REQUEST:
                yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "error.params",
    Severity.ERROR,
    "Params of a wrong type are refused",
    clause="A2A 1.0.1, 3.3.2 and 9.5",
    remedy="Check params before anything is done; answer by the error -32602.",
)
async def params(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of other answers to a task's id that is an object."""
    for each in await subject.current():
        if each.binding == RPC:
            told = await call(subject.http, each, GET, {"id": {"not": "an id"}})
            if told.code != _BAD_PARAMS:
                yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "error.version",
    Severity.ERROR,
    "A version that is not served is refused",
    clause="A2A 1.0.1, 3.6.2",
    remedy="Compare A2A-Version with what you serve; answer others by VersionNotSupportedError, "
    "-32009 or HTTP 400.",
)
async def version(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of interfaces that take any version."""
    for each in await subject.current():
        told = await call(
            subject.http, each, GET, {"id": await subject.unknown_id()}, version="99.0"
        )
        is_right = told.code == _NO_VERSION
        if each.binding == REST:
            is_right = is_right or (told.code is None and told.answer.status == 400)
        if not is_right:
            yield Fault(f"{each.name} answers {told.told} to A2A-Version: 99.0", each.where)


@check(
    "error.shape",
    Severity.ERROR,
    "Errors have a code and a message",
    clause="A2A 1.0.1, 3.3.2",
    remedy="Send a number as code and a text as message with every error.",
)
async def shape(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of errors that clients cannot read."""
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
    "Details of errors say what they are",
    clause="A2A 1.0.1, 9.5 and 11.6",
    remedy="Send details as a list of objects with @type; over HTTP+JSON with an ErrorInfo that "
    "names the reason.",
)
async def details(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of details that clients cannot tell apart."""
    for each in await subject.current():
        told = await subject.unknown_task(each)
        if told.error is None:
            continue
        given = told.error.get("details" if each.binding == REST else "data")
        if given is not None and not isinstance(given, list):
            yield Fault(f"details of errors of {each.name} are no list", each.where)
        if any(not isinstance(item, dict) or "@type" not in item for item in told.details):
            yield Fault(f"a detail of an error of {each.name} has no @type", each.where)
        elif each.binding == REST and not _reason(told):
            yield Fault(f"an error of {each.name} does not name its reason", each.where)


@check(
    "error.status",
    Severity.WARNING,
    "Errors have the HTTP status that their code says",
    clause="A2A 1.0.1, 11.6 and 5.4",
    remedy="Over HTTP+JSON send the error's code as HTTP status; over JSON-RPC no 5xx.",
)
async def status(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of HTTP statuses that mislead proxies and clients."""
    for each in await subject.current():
        told = await subject.unknown_task(each)
        if told.error is None:
            continue
        if each.binding == REST and told.error.get("code") != told.answer.status:
            sent = f"HTTP {told.answer.status} with the code {told.error.get('code')}"
            yield Fault(f"{each.name} answers {sent}", each.where)
        if each.binding == RPC and told.answer.status >= 500:
            yield Fault(f"{each.name} answers by HTTP {told.answer.status}", each.where)


def _reason(told: Outcome) -> str:
    return next(
        (
            str(item["reason"])
            for item in told.details
            if isinstance(item, dict) and item.get("@type") == ERROR_INFO and item.get("reason")
        ),
        "",
    )
