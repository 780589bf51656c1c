"""Whether messages are answered as the specification says; nothing of this without `send`."""

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
_NOBODYS = "application/x-a2a-adapters-check"
_NO_TYPE, _NO_EXTENSION, _NOT_FOUND = -32005, -32008, -32001


@check(
    "send.answers",
    Severity.ERROR,
    "A message is answered by a task or a message",
    clause="A2A 1.0.1, 3.1.1",
    remedy="Answer SendMessage by an object with either task or message.",
    sends=True,
)
async def answers(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of messages that get something else."""
    for each in await _open(subject):
        told = await sent(subject, each)
        kinds = told.result.keys() & {"task", "message"} if isinstance(told.result, dict) else ()
        if told.answer.is_late:
            yield Fault(f"{each.name} had not answered in time", each.where, Severity.NOTE)
        elif len(kinds) != 1:
            yield Fault(f"{each.name} answers SendMessage by {told.told}", each.where)


@check(
    "send.type",
    Severity.ERROR,
    "Answers to messages have all fields, and their types",
    clause="A2A 1.0.1, 4.1 and 5.7",
    remedy="Fill the field with the type that the specification says.",
    sends=True,
)
async def types(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of tasks and messages that clients cannot read."""
    for each in await _open(subject):
        result = (await sent(subject, each)).result
        if isinstance(result, dict):
            for where in missing(result, SendMessageResponse.DESCRIPTOR):
                yield Fault(f"{where} is missing in an answer of {each.name}", each.where)
            for where, expected in wrong(result, SendMessageResponse.DESCRIPTOR):
                yield Fault(f"{where} should be {expected} in answers of {each.name}", each.where)


@check(
    "send.state",
    Severity.ERROR,
    "Tasks are in a state that there is",
    clause="A2A 1.0.1, 4.1.3",
    remedy="Write states as TASK_STATE_COMPLETED.",
    sends=True,
)
async def states(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of states that clients do not know."""
    for each in await _open(subject):
        task = task_of(await sent(subject, each))
        state = state_of(task)
        if task and (state not in _STATES or state == "TASK_STATE_UNSPECIFIED"):
            yield Fault(f"a task of {each.name} is in the state {state!r}", each.where)


@check(
    "send.role",
    Severity.ERROR,
    "The agent speaks as the agent",
    clause="A2A 1.0.1, 4.1.5",
    remedy="Give the agent's messages the role ROLE_AGENT.",
    sends=True,
)
async def roles(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of answers in the user's name."""
    for each in await _open(subject):
        told = await sent(subject, each)
        result = told.result if isinstance(told.result, dict) else {}
        status = task_of(told).get("status")
        asked = status.get("message") if isinstance(status, dict) else None
        spoken = result.get("message") or asked
        if isinstance(spoken, dict) and spoken.get("role") != "ROLE_AGENT":
            yield Fault(f"{each.name} answers as {spoken.get('role')!r}", each.where)


@check(
    "send.timestamp",
    Severity.WARNING,
    "Times are in UTC, and say so",
    clause="A2A 1.0.1, 5.6.1",
    remedy="Write times as 2026-11-22T10:00:00.000Z.",
    sends=True,
)
async def timestamps(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of times that mean another moment elsewhere."""
    for each in await _open(subject):
        status = task_of(await sent(subject, each)).get("status")
        told = status.get("timestamp") if isinstance(status, dict) else None
        if isinstance(told, str) and not told.endswith("Z"):
            yield Fault(f"a time of {each.name} is {told!r}", each.where)


@check(
    "send.equal",
    Severity.ERROR,
    "All interfaces answer a message alike",
    clause="A2A 1.0.1, 5.1",
    remedy="Serve one agent by all bindings.",
    sends=True,
)
async def equal(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of interfaces where the same message comes to something else."""
    open_ones = await _open(subject)
    told = [await sent(subject, each) for each in open_ones]
    kinds = [_kind(each) for each in told]
    for each, kind in zip(open_ones[1:], kinds[1:], strict=True):
        if kind and kinds[0] and kind != kinds[0]:
            yield Fault(f"{each.name} answers by {kind}, the first one by {kinds[0]}", each.where)


def _kind(told: Outcome) -> str:
    if told.answer.is_late:
        return ""
    if task := task_of(told):
        return f"a task that is {state_of(task)}"
    return "a message" if isinstance(told.result, dict) and "message" in told.result else "an error"


@check(
    "send.no-parts",
    Severity.ERROR,
    "A message without content is refused",
    clause="A2A 1.0.1, 4.1.4 and 3.3.2",
    remedy="Check messages before a task is made of them; answer by the error -32602.",
    sends=True,
    is_last=True,
)
async def no_parts(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of messages that say nothing and begin a task."""
    for each in await _open(subject):
        told = await call(subject.http, each, SEND, message(HELLO, parts=[]))
        if told.result is not None:
            yield Fault(f"{each.name} answers a message without parts by a result", each.where)


@check(
    "send.unknown-task",
    Severity.ERROR,
    "A message to a task that is not there is refused",
    clause="A2A 1.0.1, 3.4.2",
    remedy="Answer TaskNotFoundError; never begin a task under an id that the caller chose.",
    sends=True,
    is_last=True,
)
async def unknown_task(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of tasks that callers name themselves."""
    for each in await _open(subject):
        params = message(HELLO, taskId=await subject.unknown_id())
        told = await call(subject.http, each, SEND, params)
        is_right = told.code == _NOT_FOUND
        if each.binding == REST:
            is_right = is_right or told.answer.status == 404
        if not is_right:
            yield Fault(f"{each.name} answers {told.told}", each.where)


@check(
    "send.media-type",
    Severity.NOTE,
    "Media types that the card does not name are refused",
    clause="A2A 1.0.1, 3.3.2",
    remedy="Compare the parts' media types with the card's; answer ContentTypeNotSupportedError.",
    sends=True,
    is_last=True,
)
async def media_type(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of agents that take files they cannot read."""
    modes = [
        each for each in listed(subject.card.get("defaultInputModes")) if isinstance(each, str)
    ]
    for skill in listed(subject.card.get("skills")):
        modes += listed(skill.get("inputModes")) if isinstance(skill, dict) else []
    if any(overlap(_NOBODYS, str(mode)) for mode in modes):
        return
    part: dict[str, Any] = {"raw": "AA==", "mediaType": _NOBODYS, "filename": "check.bin"}
    for each in await _open(subject):
        told = await call(subject.http, each, SEND, message("", parts=[part]))
        if told.result is not None:
            yield Fault(f"{each.name} takes a file of the type {_NOBODYS}", each.where)


@check(
    "send.extension",
    Severity.ERROR,
    "Callers that do not know a required extension are refused",
    clause="A2A 1.0.1, 3.3.4",
    remedy="Answer ExtensionSupportRequiredError (-32008), or declare the extension as optional.",
    sends=True,
)
async def extension(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of extensions that are required by the card alone."""
    if not _requires_extension(subject):
        return
    for each in await subject.current():
        told = await sent(subject, each)
        if told.code != _NO_EXTENSION:
            yield Fault(f"{each.name} answers {told.told} without the extension", each.where)


def _requires_extension(subject: Subject) -> bool:
    capabilities = subject.card.get("capabilities")
    named = listed(capabilities.get("extensions")) if isinstance(capabilities, dict) else []
    return any(isinstance(each, dict) and each.get("required") is True for each in named)


async def _open(subject: Subject) -> list[Interface]:
    """Return the interfaces that messages of callers without extensions can go to."""
    return [] if _requires_extension(subject) else await subject.current()
