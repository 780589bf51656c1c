"""The text that a graph streams, reconciled with the graph's state.

A streamed message is part of the answer if the final state has it: under its id, in the form it has
there, or as an equal text. The text of failed attempts, and of messages that a later node removed
or replaced, is withdrawn. A question keeps digests of what its task has streamed in its metadata,
because the graph may still change that after the reply, and of the files that it has sent.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from a2a_adapters import AgentEvent, Output, Part, Text, TextDelta
from a2a_adapters.plugin import AnswerText, Speech, without_reasoning
from a2a_adapters_langchain.serving.sent import SentParts

if TYPE_CHECKING:
    from a2a_adapters import AgentRequest
    from a2a_adapters.plugin import JSON

_GIVEN = "lc_run--"
"""The prefix of the ids that LangChain gives to chunks without one."""

_SO_FAR = "so_far"
"""Key in a question's metadata: the task before the reply."""


@dataclass(frozen=True, slots=True)
class TaskSoFar:
    """The earlier runs of a task.

    Attributes:
        before: The id of the last message before the task, by the key of its list.
        written: The keys of the state that the task has written.
        streamed: A digest of the text that the task has sent of each message, by the message's id.
            That of "" is of a message that was held, or withdrawn.
        sent: Digests of the files and data that it has sent.
        has_begun: Whether there are any.
    """

    before: Mapping[str, str | None] = field(default_factory=dict)
    written: Collection[str] = ()
    streamed: Mapping[str, str] = field(default_factory=dict)
    sent: Sequence[str] = ()
    has_begun: bool = False

    @classmethod
    def of(cls, request: AgentRequest) -> TaskSoFar:
        """Read it from the metadata of the question that a message answers."""
        match request.resume_metadata.get(_SO_FAR):
            case {
                "before": dict(before),
                "written": list(written),
                "streamed": list(streamed),
                **others,
            }:
                sent = cast("Sequence[str]", others.get("sent", ()))
                return cls(before, written, dict(streamed), sent, has_begun=True)
            case _:
                return cls()

    def as_metadata(self) -> dict[str, JSON]:
        """Return it as an entry of a question's metadata."""
        kept = {
            "before": dict(self.before),
            "written": sorted(self.written),
            "streamed": [[*each] for each in self.streamed.items()],  # Struct keeps no order
            "sent": [*self.sent],
        }
        return {_SO_FAR: kept}  # type: ignore[dict-item]

    def lacks(self, message_id: str | None) -> bool:
        """Whether the text of a message was held, or withdrawn."""
        return self.streamed.get(message_id or "") == _NOTHING


class Transcript:
    """The messages that a run streams as its answer.

    Args:
        earlier: The earlier runs of the task.
        keeps_all: Whether messages that the final state lacks remain part of the answer.
        is_guarded: Whether guardrails may have refused messages that the final state has.
        is_held: Whether text waits for the end of the run, before which it is not accepted.
        endings: Returns the ids of messages that no later one may have replaced.

    Attributes:
        sent: The files and data that the task has sent with its questions.
    """

    def __init__(
        self,
        earlier: TaskSoFar,
        *,
        keeps_all: bool = False,
        is_guarded: bool = False,
        is_held: bool = False,
        endings: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self.is_held = is_held
        """Whether text waits for the end of the run."""
        self.sent = SentParts(earlier.sent)
        self._earlier = earlier
        self._keeps_all = keeps_all
        self._is_guarded = is_guarded
        self._endings = endings
        self._speech = Speech[str]()
        self._messages: dict[str, list[str]] = {}
        """The chunks of each message, by its id."""
        self._tasks: dict[str, str] = {}
        """The path of the task of each message, by the message's id."""
        self._ids: dict[str, str] = {}
        """The ids of messages by the other id that their chunks also have."""
        self._writing: dict[str, str] = {}
        """The id of the message that each task of the graph is writing."""
        self._held: list[str] = []
        """The messages before a question of which nothing is sent with it."""
        self._earlier_texts: dict[str, str] = {}
        """The messages of the earlier runs as the final state has them."""
        self._copied_texts: list[str] = []
        """Those of them that it has under another id."""
        self._late: dict[str, Sequence[Part]] = {}
        """The parts of messages of earlier runs that were held."""
        self._removed: set[str | None] = set()
        self.called: set[str] = set()
        """The tool calls that tools have answered."""
        self._refused_calls: set[str] = set()
        self._state = _Texts((), (), None, ())
        self._is_corrected = False

    @property
    def has_text(self) -> bool:
        """Whether the task has streamed text."""
        return bool(self._speech or self._is_corrected or self._earlier.streamed)

    def add(self, task: str, message_id: str, text: str, *, is_last: bool) -> list[AgentEvent]:
        """Add a chunk of a message, and return the events to send.

        A task that begins another message before its last one has ended tries again.
        """
        message_id = self._ids.get(message_id, message_id)
        if not is_last and self._writing.get(task) == message_id:  # most chunks
            if text:
                self._messages[message_id].append(text)
                text = self._speech.add(message_id, text)
            return [TextDelta(text)] if text else []
        unfinished = self._writing.get(task, message_id)
        if self._goes_on(unfinished, message_id, is_end=is_last and not text):
            self._ids[message_id] = message_id = unfinished
        has_failed = unfinished != message_id and any(self._messages.pop(unfinished, ()))
        said = self._rejoined() if has_failed else ""
        self._writing[task] = message_id
        self._tasks[message_id] = task
        self._messages.setdefault(message_id, []).append(text)
        text = self._speech.add(message_id, text)
        if is_last:
            del self._writing[task]
            text += self._speech.end(message_id)
        if has_failed and not self.is_held:
            return [AnswerText(said + text)]
        anew: list[AgentEvent] = [AnswerText("")] if has_failed else []
        return [*anew, *([TextDelta(said + text)] if said + text else [])]

    def _goes_on(self, unfinished: str, message_id: str, *, is_end: bool) -> bool:
        """Whether a chunk is of the unfinished message, although its id is one of LangChain's.

        The providers of some models give their id to the first, empty chunk only, or to all but the
        last one, which is empty.
        """
        is_renamed = message_id.startswith(_GIVEN) and not unfinished.startswith(_GIVEN)
        return is_renamed and (is_end or not any(self._messages.get(unfinished, ())))

    def say(self, text: str, message_id: str | None = None) -> list[TextDelta]:
        """Add a whole message, unless it has been streamed, and return the events to send."""
        if self.is_earlier(message_id) or self.has_said(text):
            return []
        self._messages[self._new_key()] = [text]
        new = self._speech.end("", text)
        return [TextDelta(new)] if new else []

    def _new_key(self) -> str:
        """Return a key for a message without an id, which no earlier run of the task has used."""
        return f"{len(self._earlier.streamed) + len(self._messages)}"

    def rest(self) -> list[TextDelta]:
        """End all messages, and return the event with the text that was buffered."""
        text = self._speech.rest()
        return [TextDelta(text)] if text else []

    def remove(self, message_id: str | None) -> None:
        """Withdraw a message that the graph removes, even if its state keeps the text elsewhere."""
        self._removed.add(message_id)

    def refuse(self, call_id: str) -> None:
        """Withdraw a message if a guardrail has answered all its calls, including this one."""
        self._refused_calls.add(call_id)

    def settle(self, proofs: object, waiting: tuple[str, ...] = ()) -> bool:
        """Reduce the task's messages to those of the graph's state; return whether they changed.

        Args:
            proofs: The parts of the state that may contain them.
            waiting: The paths of the tasks that the graph has not finished. Their messages are not
                in its state yet.
        """
        self._state = self._texts(proofs)
        texts = self._said()
        digests = {
            each: "" if each in self._removed else _digest(said) for each, said in texts.items()
        }
        finals = self._finals(digests)
        changed = False
        for message_id, said in texts.items():
            final = finals[message_id]
            is_kept = self._keeps_all or self._is_of(message_id, waiting)
            if final is None and is_kept and message_id not in self._removed:
                final = said
            changed = changed or final != said
            self._messages[message_id] = [final or ""]
        if changed:
            self._rejoined()
        return changed

    def is_earlier(self, message_id: str | None) -> bool:
        """Whether the text of a message belongs to an earlier run of the task."""
        return message_id in self._earlier.streamed

    def take_out(self, message: BaseMessage) -> None:
        """Withdraw a message of the settled state, which is sent in another form."""
        text = without_reasoning(str(message.text))
        for message_id, chunks in self._messages.items():
            if message_id == message.id or "".join(chunks) == text:
                self._messages[message_id] = [""]
                self._rejoined()

    def arrange(self) -> None:
        """Put the messages in the order in which the settled state has them."""
        places: dict[str, int] = {}
        for message_id, chunks in self._messages.items():
            said = without_reasoning("".join(chunks))
            digest = _digest(said) if said else ""
            place = self._state.place(message_id, digest)
            if place is not None:
                places[message_id] = place
        ordered = iter(sorted(places, key=places.__getitem__))
        ids = [next(ordered) if each in places else each for each in self._messages]
        if ids != [*self._messages]:
            self._messages = {each: self._messages[each] for each in ids}
            self._is_corrected = True

    def pause(
        self,
        proofs: object,
        waiting: tuple[str, ...],
        whole: Iterable[tuple[BaseMessage, Sequence[Part]]],
    ) -> list[AgentEvent]:
        """Return what precedes a question: the corrected text, and whole messages, in order.

        Args:
            proofs: As for `settle`. Held text is sent if they have it.
            waiting: The tasks that the graph has not finished.
            whole: The messages of which something may not have been sent, and their parts.
        """
        if self.is_held:
            texts = self._accepted(proofs)
            is_changed = bool(texts)
        else:
            is_changed = self.settle(proofs, waiting)
            texts = self._said()
        said = self._said()
        added = dict(filter(None, (self._added(*each, said) for each in whole)))
        if not (added or is_changed):
            return []
        if added:
            self.arrange()
            self.sent.add(part for parts in added.values() for part in parts)
        is_late = any(map(self._earlier.lacks, added))
        earlier = self._earlier_texts.items() if is_late else ()
        before = [[Text(text)] for key, text in earlier if key not in added]
        now = [added.get(key) or [Text(texts.get(key, ""))] for key in self._messages]
        return _in_order([*before, *now], of_task=is_late)

    def hold(self, messages: Iterable[BaseMessage]) -> None:
        """Note whole messages before a question of which nothing is sent yet."""
        self._held += [each.id for each in messages if each.id and not self.is_earlier(each.id)]

    def held(self, messages: Iterable[BaseMessage]) -> list[BaseMessage]:
        """Return the messages of earlier runs that were held, and no guardrail has refused."""
        found = (each for each in messages if self._earlier.lacks(each.id))
        return [each for each in found if not self._state.is_refused(each.id)]

    def send_late(self, message: BaseMessage, parts: Sequence[Part]) -> None:
        """Send a held message in its place among the texts of earlier runs."""
        self._late[message.id or ""] = parts

    def _accepted(self, proofs: object) -> dict[str, str]:
        """Return the texts of messages that the state has; see `settle`."""
        self._state = self._texts(proofs)
        digests = {each: _digest(text) for each, text in self._said().items()}
        finals = self._finals(digests)
        return {key: text for key in digests if (text := finals[key])}

    def _finals(self, digests: Mapping[str, str]) -> dict[str, str | None]:
        """Return what the state has of messages, and note what it has of those of earlier runs."""
        finals = self._state.finals({**self._earlier.streamed, **digests})
        self._earlier_texts = {key: finals[key] or "" for key in self._earlier.streamed}
        found = self._earlier_texts.items()
        self._copied_texts = [text for key, text in found if text and not self._state.has(key)]
        return finals

    def _added(
        self, message: BaseMessage, parts: Sequence[Part], said: dict[str, str]
    ) -> tuple[str, Sequence[Part]] | None:
        """Add a whole message, and return its key and what is to be sent; None if it was sent.

        Args:
            message: The message.
            parts: What of it may not have been sent.
            said: The texts that the run has streamed. One that is that of a message under another
                id is taken out.
        """
        if self._state.is_refused(message.id):
            return None
        if self.is_earlier(message.id) and not self._earlier.lacks(message.id):
            parts = [part for part in parts if not isinstance(part, Text)]
        text = _text_of(parts)
        is_text = all(isinstance(part, Text) for part in parts)
        alike = (each for each in said if text and said[each].strip() == text.strip())
        key = message.id if message.id in self._messages else next(alike, "")
        said.pop(key, None)
        if not parts or (is_text and key):
            return None
        if not key:
            key = message.id or self._new_key()
            self._messages[key] = [text]
        return key, parts

    def has_said(self, text: str) -> bool:
        """Whether a message of the task has this text."""
        return self._speech.has_said(text) or text.strip() in map(str.strip, self._copied_texts)

    def corrected(self, rest: Sequence[AgentEvent]) -> list[AgentEvent]:
        """Return the rest of the answer, after its whole text if that may differ or was held."""
        others = [event for event in rest if not isinstance(event, TextDelta)]
        is_late = self.is_held and others  # held text would be sent after them
        if not (self._is_corrected or self._earlier.streamed or is_late):
            return [*rest]
        texts = [*self._earlier_texts.items(), *self._said().items()]
        messages = [self._late.get(key) or [Text(text)] for key, text in texts]
        return [*_in_order(messages, of_task=bool(self._earlier.streamed)), *others]

    def digests(self, proofs: object) -> dict[str, str]:
        """Return digests of the messages of the task up to a question; see `TaskSoFar.streamed`.

        With guardrails, they do not depend on text that these have not accepted.
        """
        said = self._said()
        state = self._texts(proofs)
        if self._is_guarded:
            counted = {
                message_id: _digest(text)
                for message_id, text in said.items()
                if not state.is_refused(message_id)
            }
            said = {key: text or "" for key, text in state.finals(counted).items()}
        streamed = {message_id: _digest(text) for message_id, text in said.items()}
        if self._held:  # messages of nodes that have not ended are not in the state yet
            streamed |= dict.fromkeys(self._held, _NOTHING)
            places = {key: state.place(key, digest) for key, digest in streamed.items()}
            streamed = dict(sorted(streamed.items(), key=lambda each: places[each[0]] or inf))
        return {**self._earlier.streamed, **streamed}

    def _said(self) -> dict[str, str]:
        """Return the texts of the messages, without those that have none, such as data."""
        texts = {key: without_reasoning("".join(each)) for key, each in self._messages.items()}
        return {key: text for key, text in texts.items() if text}

    def _is_of(self, message_id: str, tasks: tuple[str, ...]) -> bool:
        return bool(tasks) and self._tasks.get(message_id, "").startswith(tasks)

    def _texts(self, proofs: object) -> _Texts:
        refused = self._refused_calls if self._is_guarded else None
        counted = {*self._earlier.streamed, *self._endings()}
        return _Texts(proofs, self.called, refused, counted)

    def _rejoined(self) -> str:
        """Rejoin the remaining messages, and return the text that may be sent."""
        self._is_corrected = True
        self._speech = Speech()
        text = ""
        for message_id, chunks in self._messages.items():
            text += self._speech.add(message_id, "".join(chunks))
            if message_id not in self._writing.values():
                text += self._speech.end(message_id)
        return text


class _Texts:
    """The texts in a state of a graph.

    Args:
        values: The state.
        called: The tool calls that tools have answered, in addition to those with answers in the
            state.
        refused_calls: With guardrails, the tool calls that these have answered. Messages then
            count only if other tools have answered their calls, or if no message of a model follows
            them; what others have said proves nothing. Without guardrails, None.
        counted: The ids of messages that no later one replaces: those before a question, and
            `endings`.
    """

    def __init__(
        self,
        values: object,
        called: Collection[str],
        refused_calls: Collection[str] | None,
        counted: Collection[str],
    ) -> None:
        self._values = values
        self._counted = counted
        self._called = called
        self._refused_calls = refused_calls
        self._by_id: dict[str, str] = {}
        self._by_digest: dict[str, str] = {}
        self._counts = Counter[str]()
        self._places: dict[str, list[int]] = {}
        """The places of messages among all, by id and by digest."""
        self._messages_read = 0
        self._refused: set[str | None] = set()
        self._is_read = False

    def finals(self, digests: Mapping[str, str]) -> dict[str, str | None]:
        """Return the current texts of messages; None for those that the state no longer has.

        A text of the state is that of one message: of the one with its id, or else the latest.
        """
        self._read_once()
        found = {key: self._by_id[key] for key in digests if key in self._by_id}
        left = self._counts - Counter(map(_digest, found.values()))
        for message_id, digest in reversed([*digests.items()]):
            if message_id not in found and left[digest]:
                left[digest] -= 1
                found[message_id] = self._by_digest[digest]
        return {key: found.get(key) for key in digests}

    def place(self, message_id: str, digest: str) -> int | None:
        """Return the place of a message; without its id, the next one with this digest."""
        self._read_once()
        if message_id in self._places:
            return self._places[message_id][-1]
        places = self._places.get(digest)
        return places.pop(0) if places else None

    def has(self, message_id: str) -> bool:
        """Whether the state has a message under its id."""
        self._read_once()
        return message_id in self._by_id

    def is_refused(self, message_id: str | None) -> bool:
        """Whether the state has a message that does not count."""
        self._read_once()
        return message_id in self._refused

    def _read_once(self) -> None:
        if not self._is_read:
            self._is_read = True
            self._read(self._values)

    def _read(self, value: object) -> None:
        match value:
            case str() if self._refused_calls is None:
                self._note(value)
            case BaseMessage():
                self._read_message(value)
            case Mapping():
                for each in value.values():
                    self._read(each)
            case list() | tuple():
                refused = {id(each): each.id for each in self._refused_of(value)}
                self._refused.update(refused.values())
                for each in value:
                    if id(each) not in refused:
                        self._read(each)

    def _read_message(self, message: BaseMessage) -> None:
        text = without_reasoning(str(message.text))
        keys = []
        if message.id is not None:
            self._by_id[message.id] = text
            keys.append(message.id)
        if isinstance(message, AIMessage) or self._refused_calls is None:
            keys.append(self._note(text))
        self._messages_read += 1
        for key in keys:
            self._places.setdefault(key, []).append(self._messages_read)

    def _refused_of(self, messages: Sequence[object]) -> list[AIMessage]:
        """Return the messages of a model that another one follows, unless they called tools."""
        if self._refused_calls is None:
            return []
        said = [each for each in messages if isinstance(each, AIMessage)]
        called = {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}
        called.update(self._called)
        called.difference_update(self._refused_calls)
        return [
            each
            for each in said[:-1]
            if called.isdisjoint(call["id"] for call in each.tool_calls)
            and each.id not in self._counted
        ]

    def _note(self, text: str) -> str:
        text = without_reasoning(text)
        digest = _digest(text)
        self._by_digest.setdefault(digest, text)
        self._counts[digest] += 1
        return digest


def _in_order(messages: Sequence[Sequence[Part]], *, of_task: bool = False) -> list[AgentEvent]:
    """Return messages as the text of the answer, with their other parts between."""
    events: list[AgentEvent] = []
    said = ""
    for parts in messages:
        separator = "\n\n" if said else ""
        has_text = bool(_text_of(parts).strip())
        for is_text, group in groupby(parts, lambda part: isinstance(part, Text)):
            if not is_text:
                events += [AnswerText(said, of_task=of_task), Output([*group])]
            elif has_text:
                said += separator + _text_of(group)
                separator = ""
    return [*events, AnswerText(said, of_task=of_task)]


def _text_of(parts: Iterable[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.strip().encode("utf-8", "replace")).hexdigest()[:16]


_NOTHING = _digest("")
