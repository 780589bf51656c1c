"""Checks of streams; they need `send`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a.types import StreamResponse

from a2a_adapters_check.dialogue import ENDED, WAITING, state_of, streamed
from a2a_adapters_check.interfaces import GET, listed
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.operations import call
from a2a_adapters_check.report import Severity
from a2a_adapters_check.schema import missing, wrong

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.interfaces import Interface
    from a2a_adapters_check.subject import Subject

_KINDS = ("task", "message", "statusUpdate", "artifactUpdate")
_LATE_MS = 15_000


@check(
    "stream.answers",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.2 and 9.1",
    remedy="Serve SendStreamingMessage as text/event-stream, or declare streaming: false.",
    sends=True,
)
async def answers(subject: Subject) -> AsyncIterator[Fault]:
    """A message is answered with a stream if the card declares streaming."""
    for each in await _streaming(subject):
        found, refused = await streamed(subject, each)
        if refused is not None and refused.speaks:
            message = f"{each.name} answers SendStreamingMessage with {refused.summary}"
            yield Fault(message, each.where)
        elif not found.events:
            kind = found.answer.failure or found.answer.media_type or "nothing"
            yield Fault(f"{each.name} sends {kind} instead of a stream", each.where)


@check(
    "stream.event",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.2.3 and 4.2",
    remedy="Send exactly one of task, message, statusUpdate or artifactUpdate in each event.",
    sends=True,
)
async def events(subject: Subject) -> AsyncIterator[Fault]:
    """Every event holds one complete object."""
    async for each, found in _events(subject):
        for event in found:
            if len(_kinds(event)) != 1:
                yield Fault(
                    f"{each.name} sends an event with {_kinds(event) or 'no object'}", each.where
                )
                break
            faults = [*missing(event, StreamResponse.DESCRIPTOR)]
            faults += [where for where, _ in wrong(event, StreamResponse.DESCRIPTOR)]
            if faults:
                yield Fault(f"{faults[0]} is missing or invalid in an event", each.where)
                break


@check(
    "stream.first",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.2 and 11.7",
    remedy="Send the task before its updates.",
    sends=True,
)
async def first(subject: Subject) -> AsyncIterator[Fault]:
    """A stream starts with its task or consists of one message."""
    async for each, found in _events(subject):
        kinds = _kinds(found[0])
        if kinds and not set(kinds) & {"task", "message"}:
            yield Fault(f"the first event of {each.name} is {kinds[0]}", each.where)


@check(
    "stream.ids",
    Severity.ERROR,
    clause="A2A 1.0.1, 4.2",
    remedy="Send the task's id and contextId with every event.",
    sends=True,
)
async def ids(subject: Subject) -> AsyncIterator[Fault]:
    """All events of a stream belong to one task."""
    async for each, found in _events(subject):
        tasks = {_ids(event) for event in found} - {("", "")}
        if len(tasks) > 1:
            yield Fault(f"a stream of {each.name} mixes {len(tasks)} tasks", each.where)


@check(
    "stream.append",
    Severity.WARNING,
    clause="A2A 1.0.1, 4.2.2",
    remedy="Send the first update of an artifact without append.",
    sends=True,
)
async def append(subject: Subject) -> AsyncIterator[Fault]:
    """Artifacts are created before they are appended to."""
    async for each, found in _events(subject):
        begun: set[str] = set()
        for event in found:
            update = _body(event, "artifactUpdate")
            name = str(_body(update, "artifact").get("artifactId", ""))
            if name and update.get("append") is True and name not in begun:
                yield Fault(
                    f"{each.name} appends to the artifact {name!r} before creating it", each.where
                )
                break
            begun.add(name)


@check(
    "stream.end",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.2 and 11.7",
    remedy="Send the terminal or interrupted state, then close the stream.",
    sends=True,
)
async def end(subject: Subject) -> AsyncIterator[Fault]:
    """A stream ends when its task does."""
    for each in await _streaming(subject):
        found, _ = await streamed(subject, each)
        seen = [event for _, event in found.events if isinstance(event, dict)]
        if not seen or not _kinds(seen[-1]):  # `stream.event` reports the latter
            continue
        is_over = _last_state(seen) in ENDED | WAITING or "message" in seen[-1]
        if is_over and not found.has_ended:
            yield Fault(f"a stream of {each.name} stays open after its task", each.where)
        elif found.has_ended and not is_over:
            state = _last_state(seen) or "no state"
            yield Fault(f"a stream of {each.name} ends with {state}", each.where)
        elif not found.has_ended:
            late = f"{each.name} did not finish its answer within the time limit"
            yield Fault(late, each.where, Severity.NOTE)


@check(
    "stream.stored",
    Severity.ERROR,
    clause="A2A 1.0.1, 3.1.3 and 5.1",
    remedy="Store updates before or while streaming them.",
    sends=True,
)
async def stored(subject: Subject) -> AsyncIterator[Fault]:
    """The stored task matches its stream."""
    async for each, found in _events(subject):
        name, state = _ids(found[0])[0], _last_state(found)
        if not name or state not in ENDED:
            continue
        reply = await call(subject.http, each, GET, {"id": name})
        if not isinstance(reply.result, dict):
            yield Fault(
                f"{each.name} answers with {reply.summary} for a task it streamed", each.where
            )
        elif state_of(reply.result) != state:
            was = state_of(reply.result) or "in no state"
            yield Fault(
                f"a task of {each.name} was streamed as {state} but stored as {was}", each.where
            )


@check(
    "stream.first-text",
    Severity.NOTE,
    clause="A2A 1.0.1, 3.5.2",
    remedy="Stream text as the model generates it.",
    sends=True,
)
async def first_text(subject: Subject) -> AsyncIterator[Fault]:
    """The answer begins within 15 seconds."""
    for each in await _streaming(subject):
        found, _ = await streamed(subject, each)
        at = next((at for at, event in found.events if _has_text(event)), None)
        if at is not None:
            subject.figures.setdefault("first_token", 1000 * at)
            if 1000 * at > _LATE_MS:
                yield Fault(f"the first text of {each.name} came after {at:.0f} s", each.where)


async def _streaming(subject: Subject) -> list[Interface]:
    return await subject.current() if subject.declares("streaming") else []


async def _events(subject: Subject) -> AsyncIterator[tuple[Interface, list[Any]]]:
    """Yield the events of each streaming interface."""
    for each in await _streaming(subject):
        found, refused = await streamed(subject, each)
        if refused is None and found.events:
            yield each, [event for _, event in found.events]


def _kinds(event: Any) -> list[str]:
    return [kind for kind in _KINDS if isinstance(event, dict) and kind in event]


def _ids(event: Any) -> tuple[str, str]:
    """Return the task id and context id of an event."""
    for kind in _kinds(event):
        body = event[kind]
        if isinstance(body, dict):
            name = body.get("id" if kind == "task" else "taskId", "")
            return str(name), str(body.get("contextId", ""))
    return "", ""


def _last_state(found: list[Any]) -> str:
    states = [
        state_of(event.get(kind))
        for event in found
        if isinstance(event, dict)
        for kind in ("task", "statusUpdate")
    ]
    return next((each for each in reversed(states) if each), "")


def _has_text(event: Any) -> bool:
    parts = listed(_body(_body(event, "artifactUpdate"), "artifact").get("parts"))
    has_part = any(isinstance(part, dict) and part.get("text") for part in parts)
    return has_part or bool(_body(event, "message"))


def _body(holder: Any, key: str) -> dict[str, Any]:
    """Return a nested object, {} if it is missing."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}
