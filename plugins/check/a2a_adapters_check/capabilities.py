"""Checks that declared capabilities work and undeclared ones are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import AgentCard

from a2a_adapters_check.interfaces import EXTENDED, LIST, LIST_PUSH, REST, SUBSCRIBE
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.operations import call
from a2a_adapters_check.report import Severity
from a2a_adapters_check.schema import missing, wrong
from a2a_adapters_check.subject import is_refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.interfaces import Interface, Operation
    from a2a_adapters_check.operations import Outcome
    from a2a_adapters_check.subject import Subject

_NOT_FOUND, _NO_PUSH, _UNSUPPORTED, _NOT_CONFIGURED = -32001, -32003, -32004, -32007
_NO_METHOD = -32601
_ABSENT = {_NO_METHOD, _NO_PUSH, _UNSUPPORTED}


@check(
    "capability.list",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.4",
    remedy="Answer ListTasks with tasks, nextPageToken, pageSize and totalSize.",
)
async def lists(subject: Subject) -> AsyncIterator[Fault]:
    """Tasks can be listed."""
    for each in await subject.current():
        reply = await subject.ask(each, LIST)
        listed = reply.result.get("tasks", []) if isinstance(reply.result, dict) else None
        if not isinstance(listed, list):
            severity = Severity.NOTE if reply.code == _UNSUPPORTED else None
            yield Fault(f"{each.name} answers ListTasks with {reply.summary}", each.where, severity)


@check(
    "capability.page-size",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.1.4",
    remedy="Respect pageSize and return a nextPageToken.",
)
async def pages(subject: Subject) -> AsyncIterator[Fault]:
    """Lists respect the requested page size."""
    for each in await subject.current():
        reply = await subject.ask(each, LIST, pageSize=1)
        listed = reply.result.get("tasks") if isinstance(reply.result, dict) else None
        if isinstance(listed, list) and len(listed) > 1:
            yield Fault(f"{each.name} lists {len(listed)} tasks for pageSize 1", each.where)


@check(
    "capability.streaming",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.6",
    remedy="Serve SubscribeToTask, or declare streaming: false.",
)
async def streaming(subject: Subject) -> AsyncIterator[Fault]:
    """Tasks can be subscribed to if the card declares streaming."""
    if not subject.declares("streaming"):
        return
    for each in await subject.current():
        reply = await subject.ask(each, SUBSCRIBE, id=await subject.unknown_id())
        if not _is_not_found(each, reply):
            yield Fault(f"{each.name} answers SubscribeToTask with {reply.summary}", each.where)


@check(
    "capability.push",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.9",
    remedy="Serve the push notification config operations, or declare pushNotifications: false.",
)
async def push(subject: Subject) -> AsyncIterator[Fault]:
    """Push notifications can be configured if the card declares them."""
    if not subject.declares("pushNotifications"):
        return
    for each in await subject.current():
        reply = await _list_push(subject, each)
        if reply.code in _ABSENT or not reply.speaks:
            yield Fault(
                f"{each.name} answers a list of push configs with {reply.summary}", each.where
            )


@check(
    "capability.extended-card",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.11 and 3.3.4",
    remedy="Serve GetExtendedAgentCard, or declare extendedAgentCard: false.",
)
async def extended_card(subject: Subject) -> AsyncIterator[Fault]:
    """The extended card is available if the card declares it."""
    if not subject.declares("extendedAgentCard") or not subject.has_credentials:
        return
    for each in await subject.current():
        reply = await subject.ask(each, EXTENDED)
        if is_refused(reply):
            continue
        if not isinstance(reply.result, dict):
            yield Fault(
                f"{each.name} answers GetExtendedAgentCard with {reply.summary}", each.where
            )
            continue
        faults = [*missing(reply.result, AgentCard.DESCRIPTOR)]
        faults += [where for where, _ in wrong(reply.result, AgentCard.DESCRIPTOR)]
        if faults:
            yield Fault(f"the extended card is invalid: {', '.join(faults[:5])}", each.where)


@check(
    "capability.undeclared-streaming",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.3.4",
    remedy="Answer SubscribeToTask and SendStreamingMessage with UnsupportedOperationError, or "
    "declare streaming: true.",
)
async def undeclared_streaming(subject: Subject) -> AsyncIterator[Fault]:
    """Streams are refused unless the card declares streaming."""
    async for fault in _undeclared(subject, "streaming", SUBSCRIBE, _UNSUPPORTED):
        yield fault


@check(
    "capability.undeclared-push",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.3.4",
    remedy="Answer push notification config operations with PushNotificationNotSupportedError, "
    "or declare pushNotifications: true.",
)
async def undeclared_push(subject: Subject) -> AsyncIterator[Fault]:
    """Push notifications are refused unless the card declares them."""
    async for fault in _undeclared(subject, "pushNotifications", LIST_PUSH, _NO_PUSH):
        yield fault


@check(
    "capability.undeclared-extended-card",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.3.4",
    remedy="Answer GetExtendedAgentCard with UnsupportedOperationError, or declare "
    "extendedAgentCard: true.",
)
async def undeclared_extended_card(subject: Subject) -> AsyncIterator[Fault]:
    """The extended card is refused unless the card declares it."""
    async for fault in _undeclared(subject, "extendedAgentCard", EXTENDED, _UNSUPPORTED):
        yield fault


async def _undeclared(
    subject: Subject, capability: str, operation: Operation, expected: int
) -> AsyncIterator[Fault]:
    """Yield interfaces with an undeclared capability, and notes on those with another error."""
    if subject.declares(capability):
        return
    for each in await subject.current():
        if operation is EXTENDED:
            reply = await subject.ask(each, operation)
        else:
            key = "taskId" if operation is LIST_PUSH else "id"
            reply = await call(subject.http, each, operation, {key: await subject.unknown_id()})
        if reply.code == expected or is_refused(reply):
            continue
        asked = f"{each.name} answers {operation.method} with {reply.summary}"
        is_there = reply.result is not None or reply.code == _NOT_FOUND
        if is_there:
            yield Fault(f"{asked}, but the card does not declare {capability}", each.where)
        else:
            yield Fault(f"{asked} instead of {expected}", each.where, Severity.NOTE)


def _is_not_found(interface: Interface, reply: Outcome) -> bool:
    return reply.code == _NOT_FOUND or (interface.binding == REST and reply.answer.status == 404)


async def _list_push(subject: Subject, interface: Interface) -> Outcome:
    return await subject.ask(interface, LIST_PUSH, taskId=await subject.unknown_id())
