"""Checks of the interfaces in the card: each answers, in its binding, like the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from a2a.types import GetTaskRequest

from a2a_adapters import ConfigurationError, RemoteAgentError
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters.net.proxies import Proxies
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
    clause="A2A 1.0.1, 8.3.1",
    remedy="Serve the interface, or remove it from supportedInterfaces.",
)
async def answers(subject: Subject) -> AsyncIterator[Fault]:
    """Every interface answers."""
    await subject.ask_all()
    for each in subject.over_http():
        answer = (await subject.unknown_task(each)).answer
        if answer.is_forbidden:
            message = f"{each.name} was not called: its host is private and not the card's"
            yield Fault(message, each.where)
        elif answer.failure:
            yield Fault(f"{each.name} does not answer: {answer.failure}", each.where)


@check(
    "binding.redirect",
    Severity.ERROR,
    clause="A2A 1.0.1, 8.3.1",
    remedy="List the final URL: clients do not resend messages after a redirect.",
)
async def redirect(subject: Subject) -> AsyncIterator[Fault]:
    """Interfaces answer without a redirect."""
    for each in subject.over_http():
        answer = (await subject.unknown_task(each)).answer
        if 300 <= answer.status < 400:
            target = answer.headers.get("location", "elsewhere")
            yield Fault(f"{each.name} redirects to {target}", each.where)


@check(
    "binding.speaks",
    Severity.ERROR,
    clause="A2A 1.0.1, 9 and 11",
    remedy="Route the binding at this URL, or list the URL that serves it.",
)
async def speaks(subject: Subject) -> AsyncIterator[Fault]:
    """Every interface uses the binding named in the card."""
    for each in subject.over_http():
        reply = await subject.unknown_task(each)
        answer = reply.answer
        is_other = answer.failure or 300 <= answer.status < 400 or answer.is_refused
        if not reply.speaks and not is_other:
            kind = answer.media_type or "no media type"
            sent = f"GetTask with HTTP {answer.status}, {kind}"
            yield Fault(f"{each.name} answers {sent}", each.where)


@check(
    "binding.envelope",
    Severity.ERROR,
    clause="A2A 1.0.1, 9.1, and JSON-RPC 2.0, 5",
    remedy='Send "jsonrpc": "2.0", the id of the request, and either result or error.',
)
async def envelope(subject: Subject) -> AsyncIterator[Fault]:
    """JSON-RPC responses follow JSON-RPC 2.0."""
    for each in await subject.answering():
        body = (await subject.unknown_task(each)).answer.json
        if each.binding != RPC or not isinstance(body, dict):
            continue
        if body.get("jsonrpc") != "2.0":
            yield Fault(
                f"{each.name} answers GetTask with jsonrpc {body.get('jsonrpc')!r}", each.where
            )
        if body.get("id") != CALL_ID:
            yield Fault(f"the id of the request is returned as {body.get('id')!r}", each.where)
        if "result" in body and "error" in body and body["result"] is not None:
            yield Fault("a response has both a result and an error", each.where)


@check(
    "binding.media-type",
    Severity.WARNING,
    clause="A2A 1.0.1, 9.1 and 11.1",
    remedy="Send application/json over JSON-RPC, application/a2a+json over HTTP+JSON.",
)
async def media_types(subject: Subject) -> AsyncIterator[Fault]:
    """Responses have the media type of their binding."""
    for each in await subject.answering():
        kind = (await subject.unknown_task(each)).answer.media_type
        if kind not in _TYPES[each.binding]:
            sent = f"GetTask with {kind or 'no media type'}"
            yield Fault(f"{each.name} answers {sent}", each.where)


@check(
    "binding.equal",
    Severity.ERROR,
    clause="A2A 1.0.1, 5.1",
    remedy="Serve the same agent and the same task storage over all bindings.",
)
async def equal(subject: Subject) -> AsyncIterator[Fault]:
    """All interfaces give the same answers."""
    current = await subject.current()
    for first, each in pairwise(current):
        one, other = await subject.unknown_task(first), await subject.unknown_task(each)
        if (one.error is None) != (other.error is None):
            message = (
                f"an unknown task: {first.binding} {one.summary}, {each.binding} {other.summary}"
            )
            yield Fault(message, each.where)
        one, other = await subject.ask(first, LIST), await subject.ask(each, LIST)
        if (one.result is None) != (other.result is None):
            message = (
                f"a list of tasks: {first.binding} {one.summary}, {each.binding} {other.summary}"
            )
            yield Fault(message, each.where)


@check(
    "binding.grpc",
    Severity.ERROR,
    clause="A2A 1.0.1, 5.4 and 10",
    remedy="Serve a2a.v1.A2AService there; answer NOT_FOUND for an unknown task.",
)
async def grpc_answers(subject: Subject) -> AsyncIterator[Fault]:
    """Interfaces over gRPC answer and report unknown tasks."""
    for each in subject.over_grpc():
        if not each.is_old:
            status = await _ask(subject, each)
            if status not in _ANSWERED:
                yield Fault(f"{each.name} answers GetTask {status}", each.where)


async def _ask(subject: Subject, interface: Interface) -> str:
    """Get an unknown task; return the name of the gRPC status, or a description of the failure.

    Raises:
        UncheckedError: The extra `grpc` is not installed, or gRPC cannot use the proxy.
    """
    try:
        from a2a.types.a2a_pb2_grpc import A2AServiceStub  # noqa: PLC0415 - an extra
        from a2a_adapters_grpc.calling.channel import grpc_url, open_channel  # noqa: PLC0415
        from grpc.aio import AioRpcError  # noqa: PLC0415
    except ImportError as error:
        raise UncheckedError("install a2a-adapters[grpc] to check gRPC") from error
    request = GetTaskRequest(id=await subject.unknown_id(), tenant=interface.tenant)
    try:
        async with asyncio.timeout(subject.http.patience):
            url = grpc_url(interface.url, subject.url)
            options = replace(_OPTIONS, proxy=subject.http.proxy)
            proxy = Proxies(options.proxy).of(url)
            async with await open_channel(url, subject.url, options, proxy) as channel:
                metadata = (("a2a-version", _sendable(interface.version)),)
                stub = A2AServiceStub(channel)  # type: ignore[no-untyped-call]
                await stub.GetTask(request, metadata=metadata)
    except ConfigurationError as error:
        raise UncheckedError(str(error)) from error
    except AioRpcError as error:
        return str(error.code().name)
    except TimeoutError:
        return "with a timeout"
    except RemoteAgentError as error:
        return f"with a failed connection: {error}"
    return "with a task"


def _sendable(version: str) -> str:
    """Return a version that fits into metadata; another check reports invalid ones."""
    return version if version.isascii() and version.isprintable() else "1.0"
