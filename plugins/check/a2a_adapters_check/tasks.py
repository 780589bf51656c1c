"""Checks of listing, subscribing to and cancelling tasks; they need `send`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.net.addresses import Reach
from a2a_adapters_check.addresses import host_reach
from a2a_adapters_check.dialogue import ENDED, ended_task, long_task, state_of
from a2a_adapters_check.interfaces import CANCEL, GET, LIST, REST, SUBSCRIBE, listed
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.operations import call
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.subject import Subject

_NOT_CANCELLABLE, _UNSUPPORTED = -32002, -32004


@check(
    "task.listed",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.4",
    remedy="List all tasks of the caller, latest first.",
    sends=True,
)
async def is_listed(subject: Subject) -> AsyncIterator[Fault]:
    """Callers find their tasks in the list."""
    for each in await subject.current():
        if name := await ended_task(subject, each):
            reply = await call(subject.http, each, LIST, {"pageSize": 50})
            tasks = reply.result.get("tasks") if isinstance(reply.result, dict) else None
            names = [task.get("id") for task in listed(tasks) if isinstance(task, dict)]
            if isinstance(reply.result, dict) and name not in names:
                yield Fault(f"{each.name} does not list a task that has just ended", each.where)


@check(
    "task.history-length",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.2.4",
    remedy="Omit the history if historyLength is 0.",
    sends=True,
)
async def history_length(subject: Subject) -> AsyncIterator[Fault]:
    """The history is left out if historyLength is 0."""
    for each in await subject.current():
        if name := await ended_task(subject, each):
            reply = await call(subject.http, each, GET, {"id": name, "historyLength": 0})
            if isinstance(reply.result, dict) and reply.result.get("history"):
                yield Fault(f"{each.name} sends a history for historyLength 0", each.where)


@check(
    "task.ended-cancel",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.5 and 5.4",
    remedy="Answer with TaskNotCancelableError: -32002 over JSON-RPC, HTTP 400 over HTTP+JSON.",
    sends=True,
)
async def ended_cancel(subject: Subject) -> AsyncIterator[Fault]:
    """A task in a terminal state cannot be cancelled."""
    for each in await subject.current():
        if name := await ended_task(subject, each):
            reply = await call(subject.http, each, CANCEL, {"id": name})
            is_right = reply.code == _NOT_CANCELLABLE
            if each.binding == REST:
                is_right = is_right or reply.answer.status in {400, 409}
            if not is_right:
                yield Fault(f"{each.name} answers with {reply.summary}", each.where)


@check(
    "task.ended-subscribe",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.1.6",
    remedy="Answer with UnsupportedOperationError; clients can use GetTask.",
    sends=True,
)
async def ended_subscribe(subject: Subject) -> AsyncIterator[Fault]:
    """A task in a terminal state cannot be subscribed to."""
    for each in await subject.current() if subject.declares("streaming") else []:
        if name := await ended_task(subject, each):
            reply = await call(subject.http, each, SUBSCRIBE, {"id": name})
            if reply.error is None:
                yield Fault(f"{each.name} answers with {reply.summary}", each.where)


@check(
    "task.cancel",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.5",
    remedy="Stop the task, and answer with it in the state TASK_STATE_CANCELED.",
    sends=True,
)
async def cancel(subject: Subject) -> AsyncIterator[Fault]:
    """A running task can be cancelled."""
    found = await long_task(subject)
    if found is None or found.cancelled is None or not found.is_running:
        return
    reply, each = found.cancelled, found.interface
    state = state_of(reply.result)
    if state == "TASK_STATE_CANCELED":
        return
    answer = f"a task in {state}" if state else reply.summary
    if reply.code == _NOT_CANCELLABLE or state in ENDED:  # it may have ended in the meantime
        note = f"a task of {each.name} could not be cancelled: {answer}"
        yield Fault(note, each.where, Severity.NOTE)
    else:
        yield Fault(f"{each.name} answers CancelTask with {answer}", each.where)


@check(
    "task.subscribe",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.6",
    remedy="Send the task, then its updates, and close the stream when the task ends.",
    sends=True,
)
async def subscribe(subject: Subject) -> AsyncIterator[Fault]:
    """A running task can be subscribed to."""
    found = await long_task(subject)
    if found is None or not found.is_running or not subject.declares("streaming"):
        return
    each, events = found.interface, [event for _, event in found.subscribed.events]
    if found.refused is not None:
        yield Fault(f"{each.name} answers SubscribeToTask with {found.refused.summary}", each.where)
    elif not isinstance(events[0], dict) or "task" not in events[0]:
        yield Fault(f"a subscription at {each.name} does not start with the task", each.where)
    is_over = found.cancelled is not None and state_of(found.cancelled.result) in ENDED
    if events and is_over and not found.subscribed.has_ended:
        yield Fault(f"a subscription at {each.name} stays open after its task", each.where)


@check(
    "push.inside",
    Severity.ERROR,
    clause="A2A 1.0.1, 13.2",
    remedy="Refuse push notifications to loopback, private and link-local addresses (SSRF), when "
    "they are configured and again when they are called.",
    sends=True,
)
async def inside(subject: Subject) -> AsyncIterator[Fault]:
    """Push notifications to internal addresses are refused."""
    found = await long_task(subject)
    if found is None or found.pushed is None or found.pushed.error is not None:
        return
    each = found.interface
    is_public = host_reach(subject.url.host) is Reach.PUBLIC
    if found.was_called:
        message = f"{each.name} sent a push notification to a loopback address"
        # The operator of a private agent may allow private receivers.
        yield Fault(message, each.where, None if is_public else Severity.NOTE)
    elif found.pushed.result is not None and is_public:
        message = f"{each.name} accepts a loopback address; whether it is called is unknown"
        yield Fault(message, each.where, Severity.WARNING)
