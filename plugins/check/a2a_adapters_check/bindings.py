"""Whether every interface that the card names answers, and as the others do."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

from a2a.types import GetTaskRequest

from a2a_adapters import RemoteAgentError
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters_check.http_client import MAX_ANSWER
from a2a_adapters_check.interfaces import CALL_ID, LIST, REST, RPC
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity, UncheckedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.interfaces import Interface
    from a2a_adapters_check.subject import Subject

_JSON = "application/json"

_TYPES = {RPC: {_JSON}, REST: {_JSON, "application/a2a+json"}}

_OPTIONS = RemoteOptions(answer_bytes=MAX_ANSWER)

_ANSWERED = {"NOT_FOUND", "UNAUTHENTICATED", "PERMISSION_DENIED"}


@check(
    "binding.answers",
    Severity.ERROR,
    "Every interface answers",
    clause="A2A 1.0.1, 8.3.1",
    remedy="Serve what the card names, or take it out of supportedInterfaces.",
)
async def answers(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of interfaces where nobody is, or nobody in time."""
    await subject.ask_all()
    for each in subject.over_http():
        answer = (await subject.unknown_task(each)).answer
        if answer.is_forbidden:
            told = f"{each.name} was not called: it is inside a network, and not the card's host"
            yield Fault(told, each.where)
        elif answer.failure:
            yield Fault(f"{each.name} does not answer: {answer.failure}", each.where)


@check(
    "binding.redirect",
    Severity.ERROR,
    "Interfaces are at the address itself",
    clause="A2A 1.0.1, 8.3.1",
    remedy="Name the address that answers: clients do not send messages after a redirect.",
)
async def redirect(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of interfaces that send callers elsewhere."""
    for each in subject.over_http():
        answer = (await subject.unknown_task(each)).answer
        if 300 <= answer.status < 400:
            target = answer.headers.get("location", "elsewhere")
            yield Fault(f"{each.name} redirects to {target}", each.where)


@check(
    "binding.speaks",
    Severity.ERROR,
    "Every interface speaks the binding that the card names",
    clause="A2A 1.0.1, 9 and 11",
    remedy="Route the binding at this address, or name the address at which it is.",
)
async def speaks(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of answers that are not of the binding."""
    for each in subject.over_http():
        told = await subject.unknown_task(each)
        answer = told.answer
        is_other = answer.failure or 300 <= answer.status < 400 or answer.is_refused
        if not told.speaks and not is_other:
            kind = answer.media_type or "no media type"
            yield Fault(f"{each.name} answers HTTP {answer.status}, {kind}", each.where)


@check(
    "binding.envelope",
    Severity.ERROR,
    "Answers over JSON-RPC are those of JSON-RPC 2.0",
    clause="A2A 1.0.1, 9.1, and JSON-RPC 2.0, 5",
    remedy='Send "jsonrpc": "2.0", the id of the call, and either result or error.',
)
async def envelope(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of answers that clients cannot match with their calls."""
    for each in await subject.answering():
        body = (await subject.unknown_task(each)).answer.json
        if each.binding != RPC or not isinstance(body, dict):
            continue
        if body.get("jsonrpc") != "2.0":
            yield Fault(f"jsonrpc is {body.get('jsonrpc')!r} in answers of {each.name}", each.where)
        if body.get("id") != CALL_ID:
            yield Fault(f"the id of the call comes back as {body.get('id')!r}", each.where)
        if "result" in body and "error" in body and body["result"] is not None:
            yield Fault("an answer has a result and an error", each.where)


@check(
    "binding.media-type",
    Severity.WARNING,
    "Answers have the media type of their binding",
    clause="A2A 1.0.1, 9.1 and 11.1",
    remedy="Send application/json over JSON-RPC, application/a2a+json over HTTP+JSON.",
)
async def media_types(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of answers of another media type."""
    for each in await subject.answering():
        kind = (await subject.unknown_task(each)).answer.media_type
        if kind not in _TYPES[each.binding]:
            yield Fault(f"{each.name} answers by {kind or 'no media type'}", each.where)


@check(
    "binding.equal",
    Severity.ERROR,
    "All interfaces answer alike",
    clause="A2A 1.0.1, 5.1",
    remedy="Serve one agent and one store of tasks by all bindings.",
)
async def equal(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of interfaces that answer the same question otherwise."""
    current = await subject.current()
    for first, each in pairwise(current):
        one, other = await subject.unknown_task(first), await subject.unknown_task(each)
        if (one.error is None) != (other.error is None):
            told = f"an unknown task: {first.binding} {one.told}, {each.binding} {other.told}"
            yield Fault(told, each.where)
        one, other = await subject.ask(first, LIST), await subject.ask(each, LIST)
        if (one.result is None) != (other.result is None):
            told = f"a list of tasks: {first.binding} {one.told}, {each.binding} {other.told}"
            yield Fault(told, each.where)


@check(
    "binding.grpc",
    Severity.ERROR,
    "Interfaces over gRPC answer, and know no task of nobody's",
    clause="A2A 1.0.1, 5.4 and 10",
    remedy="Serve a2a.v1.A2AService there; answer NOT_FOUND for an unknown task.",
)
async def grpc_answers(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of gRPC interfaces where nobody is, or somebody else."""
    for each in subject.over_grpc():
        if not each.is_old:
            told = await _ask(subject, each)
            if told not in _ANSWERED:
                yield Fault(f"{each.name} answers {told}", each.where)


async def _ask(subject: Subject, interface: Interface) -> str:
    """Ask for a task that is nobody's; return the status by name, or what went wrong.

    Raises:
        UncheckedError: The extra `grpc` is not installed.
    """
    try:
        from a2a.types.a2a_pb2_grpc import A2AServiceStub  # noqa: PLC0415 - an extra
        from a2a_adapters_grpc.calling.channel import grpc_url, open_channel  # noqa: PLC0415
        from grpc.aio import AioRpcError  # noqa: PLC0415
    except ImportError as error:
        raise UncheckedError("it needs the extra a2a-adapters[grpc]") from error
    request = GetTaskRequest(id=await subject.unknown_id(), tenant=interface.tenant)
    try:
        async with asyncio.timeout(subject.http.patience):
            url = grpc_url(interface.url, subject.url)
            async with await open_channel(url, subject.url, _OPTIONS) as channel:
                metadata = (("a2a-version", _sendable(interface.version)),)
                stub = A2AServiceStub(channel)  # type: ignore[no-untyped-call]
                await stub.GetTask(request, metadata=metadata)
    except AioRpcError as error:
        return str(error.code().name)
    except TimeoutError:
        return "not in time"
    except RemoteAgentError as error:
        return f"nothing: {error}"
    return "by a task"


def _sendable(version: str) -> str:
    """Return a version that metadata may have: what is none is told of by another check."""
    return version if version.isascii() and version.isprintable() else "1.0"
