"""Whether tasks can be found, followed and cancelled; nothing of this without `send`."""

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
    "A caller finds their tasks in the list",
    clause="A2A 1.0.1, 3.1.4",
    remedy="List every task that the caller may get, the latest first.",
    sends=True,
)
async def is_listed(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of lists without the task that was begun a moment ago."""
    for each in await subject.current():
        if name := await ended_task(subject, each):
            told = await call(subject.http, each, LIST, {"pageSize": 50})
            tasks = told.result.get("tasks") if isinstance(told.result, dict) else None
            names = [task.get("id") for task in listed(tasks) if isinstance(task, dict)]
            if isinstance(told.result, dict) and name not in names:
                yield Fault(f"{each.name} does not list a task it has just ended", each.where)


@check(
    "task.history-length",
    Severity.WARNING,
    "Callers get no history that they do not want",
    clause="A2A 1.0.1, 3.2.4",
    remedy="Leave the history out if historyLength is 0.",
    sends=True,
)
async def history_length(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of tasks that bring their history all the same."""
    for each in await subject.current():
        if name := await ended_task(subject, each):
            told = await call(subject.http, each, GET, {"id": name, "historyLength": 0})
            if isinstance(told.result, dict) and told.result.get("history"):
                yield Fault(f"{each.name} sends a history for historyLength 0", each.where)


@check(
    "task.ended-cancel",
    Severity.ERROR,
    "A task that has ended cannot be cancelled",
    clause="A2A 1.0.1, 3.1.5 and 5.4",
    remedy="Answer TaskNotCancelableError: -32002 over JSON-RPC, HTTP 400 over HTTP+JSON.",
    sends=True,
)
async def ended_cancel(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of tasks that are cancelled after their end."""
    for each in await subject.current():
        if name := await ended_task(subject, each):
            told = await call(subject.http, each, CANCEL, {"id": name})
            is_right = told.code == _NOT_CANCELLABLE
            if each.binding == REST:
                is_right = is_right or told.answer.status in {400, 409}
            if not is_right:
                yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "task.ended-subscribe",
    Severity.WARNING,
    "A task that has ended cannot be subscribed to",
    clause="A2A 1.0.1, 3.1.6",
    remedy="Answer UnsupportedOperationError; callers get the task by GetTask.",
    sends=True,
)
async def ended_subscribe(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of subscriptions to nothing."""
    for each in await subject.current() if subject.declares("streaming") else []:
        if name := await ended_task(subject, each):
            told = await call(subject.http, each, SUBSCRIBE, {"id": name})
            if told.error is None:
                yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "task.cancel",
    Severity.ERROR,
    "A task that is worked on can be cancelled",
    clause="A2A 1.0.1, 3.1.5",
    remedy="Stop the work, and answer by the task in the state TASK_STATE_CANCELED.",
    sends=True,
)
async def cancel(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of tasks that go on."""
    found = await long_task(subject)
    if found is None or found.cancelled is None or not found.is_running:
        return
    told, each = found.cancelled, found.interface
    if told.code == _NOT_CANCELLABLE:
        note = f"a task of {each.name} could not be cancelled: {told.told}"
        yield Fault(note, each.where, Severity.NOTE)
    elif state_of(told.result) != "TASK_STATE_CANCELED":
        yield Fault(f"{each.name} answers CancelTask by {told.told}", each.where)


@check(
    "task.subscribe",
    Severity.ERROR,
    "A task that is worked on can be subscribed to again",
    clause="A2A 1.0.1, 3.1.6",
    remedy="Send the task as it is, then what happens to it, and close the stream when it ends.",
    sends=True,
)
async def subscribe(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of subscriptions that begin or end otherwise."""
    found = await long_task(subject)
    if found is None or not found.is_running or not subject.declares("streaming"):
        return
    each, events = found.interface, [event for _, event in found.subscribed.events]
    if found.refused is not None:
        yield Fault(f"{each.name} answers SubscribeToTask by {found.refused.told}", each.where)
    elif not isinstance(events[0], dict) or "task" not in events[0]:
        yield Fault(f"a subscription at {each.name} does not begin with the task", each.where)
    is_over = found.cancelled is not None and state_of(found.cancelled.result) in ENDED
    if events and is_over and not found.subscribed.has_ended:
        yield Fault(f"a subscription at {each.name} stays open after its task", each.where)


@check(
    "push.inside",
    Severity.ERROR,
    "Callers cannot make the agent call addresses inside its network",
    clause="A2A 1.0.1, 13.2",
    remedy="Refuse loopback, private and link-local addresses of push notifications (SSRF), when "
    "they are configured and again when they are called.",
    sends=True,
)
async def inside(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of agents that call what they are told."""
    found = await long_task(subject)
    if found is None or found.pushed is None or found.pushed.error is not None:
        return
    each = found.interface
    if found.was_called:
        yield Fault(f"{each.name} sent a push notification to a loopback address", each.where)
    elif found.pushed.result is not None and host_reach(subject.url.host) is Reach.PUBLIC:
        told = f"{each.name} takes a loopback address; nobody here can see whether it is called"
        yield Fault(told, each.where, Severity.WARNING)
