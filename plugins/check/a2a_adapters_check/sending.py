"""Checks of the answers to messages; they need `send`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.types import SendMessageResponse, TaskState

from a2a_adapters.protocol.card import overlap
from a2a_adapters_check.dialogue import HELLO, message, sent, state_of, task_of
from a2a_adapters_check.interfaces import REST, SEND, listed
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.operations import call
from a2a_adapters_check.report import Severity
from a2a_adapters_check.schema import missing, wrong

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.interfaces import Interface
    from a2a_adapters_check.operations import Outcome
    from a2a_adapters_check.subject import Subject

_STATES = frozenset(TaskState.keys())
_BILL = "a2a_adapters.bill"
_NOBODYS = "application/x-a2a-adapters-check"
_NO_TYPE, _NO_EXTENSION, _NOT_FOUND = -32005, -32008, -32001


@check(
    "send.answers",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.1",
    remedy="Answer SendMessage with an object that holds either task or message.",
    sends=True,
)
async def answers(subject: Subject) -> AsyncIterator[Fault]:
    """A message is answered with a task or a message."""
    for each in [] if _requires_extension(subject) else await subject.accepting():
        reply = await sent(subject, each)
        if reply.answer.is_late:
            yield Fault(f"{each.name} did not answer in time", each.where, Severity.NOTE)
        elif not _is_answer(each, reply.result):
            yield Fault(f"{each.name} answers SendMessage with {reply.summary}", each.where)


def _is_answer(interface: Interface, result: Any) -> bool:
    if not isinstance(result, dict):
        return False
    if interface.is_old and interface.binding != REST:
        return result.get("kind") in {"task", "message"}
    return len(result.keys() & {"task", "message", "msg"}) == 1


@check(
    "send.type",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.1 and 5.7",
    remedy="Send the field with the type required by the specification.",
    sends=True,
)
async def types(subject: Subject) -> AsyncIterator[Fault]:
    """Answers to messages have all fields with the right types."""
    for each in await _open(subject):
        result = (await sent(subject, each)).result
        if isinstance(result, dict):
            for where in missing(result, SendMessageResponse.DESCRIPTOR):
                yield Fault(f"{each.name} answers without {where}", each.where)
            for where, expected in wrong(result, SendMessageResponse.DESCRIPTOR):
                yield Fault(
                    f"{each.name} answers with a {where} that is not {expected}", each.where
                )


@check(
    "send.state",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.1.3",
    remedy="Use the states of the specification, such as TASK_STATE_COMPLETED.",
    sends=True,
)
async def states(subject: Subject) -> AsyncIterator[Fault]:
    """Tasks are in a known state."""
    for each in await _open(subject):
        task = task_of(await sent(subject, each))
        state = state_of(task)
        if task and (state not in _STATES or state == "TASK_STATE_UNSPECIFIED"):
            yield Fault(f"a task of {each.name} is in the state {state!r}", each.where)


@check(
    "send.role",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.1.5",
    remedy="Give the agent's messages the role ROLE_AGENT.",
    sends=True,
)
async def roles(subject: Subject) -> AsyncIterator[Fault]:
    """The agent answers in the agent's role."""
    for each in await _open(subject):
        reply = await sent(subject, each)
        result = reply.result if isinstance(reply.result, dict) else {}
        status = task_of(reply).get("status")
        asked = status.get("message") if isinstance(status, dict) else None
        spoken = result.get("message") or asked
        if isinstance(spoken, dict) and spoken.get("role") != "ROLE_AGENT":
            yield Fault(f"{each.name} answers as {spoken.get('role')!r}", each.where)


@check(
    "send.inner-agents",
    Severity.WARNING,
    clause="A2A 1.0.1, 13.4",
    remedy="Name the agents and tasks behind an agent to its operators only.",
    sends=True,
)
async def inner_agents(subject: Subject) -> AsyncIterator[Fault]:
    """Answers do not name the agents behind the agent."""
    for each in await _open(subject):
        reply = await sent(subject, each)
        result = reply.result if isinstance(reply.result, dict) else {}
        for spoken in (result.get("message"), task_of(reply)):
            metadata = spoken.get("metadata") if isinstance(spoken, dict) else None
            bill = metadata.get(_BILL) if isinstance(metadata, dict) else None
            if isinstance(bill, dict) and bill.get("delegates"):
                yield Fault(f"{each.name} names the agents and tasks in its bill", each.where)


@check(
    "send.timestamp",
    Severity.WARNING,
    clause="A2A 1.0.1, 5.6.1",
    remedy="Write timestamps such as 2026-11-22T10:00:00.000Z.",
    sends=True,
)
async def timestamps(subject: Subject) -> AsyncIterator[Fault]:
    """Timestamps are in UTC."""
    for each in await _open(subject):
        status = task_of(await sent(subject, each)).get("status")
        timestamp = status.get("timestamp") if isinstance(status, dict) else None
        if isinstance(timestamp, str) and not timestamp.endswith("Z"):
            yield Fault(f"{each.name} sends the timestamp {timestamp!r}", each.where)


@check(
    "send.equal",
    Severity.ERROR,
    clause="A2A 1.0.1, 5.1",
    remedy="Serve the same agent over all bindings.",
    sends=True,
)
async def equal(subject: Subject) -> AsyncIterator[Fault]:
    """All interfaces answer a message alike."""
    open_ones = await _open(subject)
    replies = [await sent(subject, each) for each in open_ones]
    kinds = [_kind(each) for each in replies]
    for each, kind in zip(open_ones[1:], kinds[1:], strict=True):
        if kind and kinds[0] and kind != kinds[0]:
            yield Fault(
                f"{each.name} answers with {kind}, the first interface with {kinds[0]}", each.where
            )


def _kind(reply: Outcome) -> str:
    if reply.answer.is_late:
        return ""
    if task := task_of(reply):
        return f"a task in {state_of(task)}"
    return (
        "a message" if isinstance(reply.result, dict) and "message" in reply.result else "an error"
    )


@check(
    "send.no-parts",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.1.4 and 3.3.2",
    remedy="Validate messages before creating a task; answer with the error -32602.",
    sends=True,
    is_last=True,
)
async def no_parts(subject: Subject) -> AsyncIterator[Fault]:
    """A message without content is refused."""
    for each in await _open(subject):
        reply = await call(subject.http, each, SEND, message(HELLO, parts=[]))
        if reply.result is not None:
            yield Fault(f"{each.name} accepts a message without parts", each.where)


@check(
    "send.unknown-task",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.4.2",
    remedy="Answer with TaskNotFoundError; never create a task with an id chosen by the client.",
    sends=True,
    is_last=True,
)
async def unknown_task(subject: Subject) -> AsyncIterator[Fault]:
    """A message to an unknown task is refused."""
    for each in await _open(subject):
        params = message(HELLO, taskId=await subject.unknown_id())
        reply = await call(subject.http, each, SEND, params)
        is_right = reply.code == _NOT_FOUND
        if each.binding == REST:
            is_right = is_right or reply.answer.status == 404
        if not is_right:
            yield Fault(f"{each.name} answers with {reply.summary}", each.where)


@check(
    "send.media-type",
    Severity.NOTE,
    clause="A2A 1.0.1, 3.3.2",
    remedy="Compare media types with the card's; answer with ContentTypeNotSupportedError.",
    sends=True,
    is_last=True,
)
async def media_type(subject: Subject) -> AsyncIterator[Fault]:
    """Media types that the card does not list are refused."""
    modes = [
        each for each in listed(subject.card.get("defaultInputModes")) if isinstance(each, str)
    ]
    for skill in listed(subject.card.get("skills")):
        modes += listed(skill.get("inputModes")) if isinstance(skill, dict) else []
    if any(overlap(_NOBODYS, str(mode)) for mode in modes):
        return
    part: dict[str, Any] = {"raw": "AA==", "mediaType": _NOBODYS, "filename": "check.bin"}
    for each in await _open(subject):
        reply = await call(subject.http, each, SEND, message("", parts=[part]))
        if reply.result is not None:
            yield Fault(f"{each.name} accepts a file of the type {_NOBODYS}", each.where)


@check(
    "send.extension",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.3.4",
    remedy="Answer with ExtensionSupportRequiredError (-32008), or make the extension optional.",
    sends=True,
)
async def extension(subject: Subject) -> AsyncIterator[Fault]:
    """Clients without a required extension are refused."""
    if not _requires_extension(subject):
        return
    for each in await subject.current():
        reply = await sent(subject, each)
        if reply.code != _NO_EXTENSION:
            yield Fault(
                f"{each.name} answers with {reply.summary} to a client without the extension",
                each.where,
            )


def _requires_extension(subject: Subject) -> bool:
    capabilities = subject.card.get("capabilities")
    named = listed(capabilities.get("extensions")) if isinstance(capabilities, dict) else []
    return any(isinstance(each, dict) and each.get("required") is True for each in named)


async def _open(subject: Subject) -> list[Interface]:
    """Return the interfaces that accept messages without extensions."""
    return [] if _requires_extension(subject) else await subject.current()
