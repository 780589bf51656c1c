"""Whether the agent can do what its card declares, and refuses what it does not."""

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
    "Tasks can be listed",
    clause="A2A 1.0.1, 3.1.4",
    remedy="Answer ListTasks with tasks, nextPageToken, pageSize and totalSize.",
)
async def lists(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of interfaces without a list of tasks."""
    for each in await subject.current():
        told = await subject.ask(each, LIST)
        listed = told.result.get("tasks", []) if isinstance(told.result, dict) else None
        if not isinstance(listed, list):
            severity = Severity.NOTE if told.code == _UNSUPPORTED else None
            yield Fault(f"{each.name} answers ListTasks by {told.told}", each.where, severity)


@check(
    "capability.page-size",
    Severity.WARNING,
    "A list is no longer than was asked for",
    clause="A2A 1.0.1, 3.1.4",
    remedy="Take pageSize into account, and tell where the next page begins.",
)
async def pages(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of lists that take no notice of pageSize."""
    for each in await subject.current():
        told = await subject.ask(each, LIST, pageSize=1)
        listed = told.result.get("tasks") if isinstance(told.result, dict) else None
        if isinstance(listed, list) and len(listed) > 1:
            yield Fault(f"{each.name} lists {len(listed)} tasks, and 1 was asked for", each.where)


@check(
    "capability.streaming",
    Severity.ERROR,
    "Tasks can be subscribed to, if the card declares streaming",
    clause="A2A 1.0.1, 3.1.6",
    remedy="Serve SubscribeToTask, or declare streaming: false.",
)
async def streaming(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of subscriptions that are declared and not there."""
    if not subject.declares("streaming"):
        return
    for each in await subject.current():
        told = await subject.ask(each, SUBSCRIBE, id=await subject.unknown_id())
        if not _is_not_found(each, told):
            yield Fault(f"{each.name} answers SubscribeToTask by {told.told}", each.where)


@check(
    "capability.push",
    Severity.ERROR,
    "Push notifications can be configured, if the card declares them",
    clause="A2A 1.0.1, 3.1.9",
    remedy="Serve the operations for push notification configs, or declare "
    "pushNotifications: false.",
)
async def push(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of push notifications that are declared and not there."""
    if not subject.declares("pushNotifications"):
        return
    for each in await subject.current():
        told = await _list_push(subject, each)
        if told.code in _ABSENT or not told.speaks:
            yield Fault(f"{each.name} answers a list of push configs by {told.told}", each.where)


@check(
    "capability.extended-card",
    Severity.ERROR,
    "There is an extended card, if the card declares it",
    clause="A2A 1.0.1, 3.1.11 and 3.3.4",
    remedy="Serve GetExtendedAgentCard, or declare extendedAgentCard: false.",
)
async def extended_card(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of extended cards that are declared and not there, or not whole."""
    if not subject.declares("extendedAgentCard") or not subject.has_credentials:
        return
    for each in await subject.current():
        told = await subject.ask(each, EXTENDED)
        if is_refused(told):
            continue
        if not isinstance(told.result, dict):
            yield Fault(f"{each.name} answers GetExtendedAgentCard by {told.told}", each.where)
            continue
        faults = [*missing(told.result, AgentCard.DESCRIPTOR)]
        faults += [where for where, _ in wrong(told.result, AgentCard.DESCRIPTOR)]
        if faults:
            yield Fault(f"the extended card is no card: {', '.join(faults[:5])}", each.where)


@check(
    "capability.undeclared-streaming",
    Severity.WARNING,
    "Streams are refused, if the card does not declare streaming",
    clause="A2A 1.0.1, 3.3.4",
    remedy="Answer SubscribeToTask and SendStreamingMessage by UnsupportedOperationError, or "
    "declare streaming: true.",
)
async def undeclared_streaming(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of subscriptions that are there and not declared."""
    async for fault in _undeclared(subject, "streaming", SUBSCRIBE, _UNSUPPORTED):
        yield fault


@check(
    "capability.undeclared-push",
    Severity.WARNING,
    "Push notifications are refused, if the card does not declare them",
    clause="A2A 1.0.1, 3.3.4",
    remedy="Answer operations for push notification configs by PushNotificationNotSupportedError, "
    "or declare pushNotifications: true.",
)
async def undeclared_push(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of push notifications that are there and not declared."""
    async for fault in _undeclared(subject, "pushNotifications", LIST_PUSH, _NO_PUSH):
        yield fault


@check(
    "capability.undeclared-extended-card",
    Severity.WARNING,
    "The extended card is refused, if the card does not declare it",
    clause="A2A 1.0.1, 3.3.4",
    remedy="Answer GetExtendedAgentCard by UnsupportedOperationError, or declare "
    "extendedAgentCard: true.",
)
async def undeclared_extended_card(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of extended cards that are there and not declared."""
    async for fault in _undeclared(subject, "extendedAgentCard", EXTENDED, _UNSUPPORTED):
        yield fault


async def _undeclared(
    subject: Subject, capability: str, operation: Operation, expected: int
) -> AsyncIterator[Fault]:
    """Yield interfaces that do what is not declared, and notes on those that refuse otherwise."""
    if subject.declares(capability):
        return
    for each in await subject.current():
        if operation is EXTENDED:
            told = await subject.ask(each, operation)
        else:
            key = "taskId" if operation is LIST_PUSH else "id"
            told = await call(subject.http, each, operation, {key: await subject.unknown_id()})
        if told.code == expected or is_refused(told):
            continue
        asked = f"{each.name} answers {operation.method} by {told.told}"
        is_there = told.result is not None or told.code == _NOT_FOUND
        if is_there:
            yield Fault(f"{asked}, but the card does not declare {capability}", each.where)
        else:
            yield Fault(f"{asked}, not by {expected}", each.where, Severity.NOTE)


def _is_not_found(interface: Interface, told: Outcome) -> bool:
    return told.code == _NOT_FOUND or (interface.binding == REST and told.answer.status == 404)


async def _list_push(subject: Subject, interface: Interface) -> Outcome:
    return await subject.ask(interface, LIST_PUSH, taskId=await subject.unknown_id())
