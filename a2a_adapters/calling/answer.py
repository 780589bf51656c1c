"""Accumulates the events of an agent into one answer.

Agents differ: text may arrive as an artifact, as a status message, as both, as a bare message, or
only in the final task. Each piece is kept once.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from a2a.types import Role, TaskState

from a2a_adapters.calling.reply import (
    AgentReply,
    LaterText,
    Question,
    RemoteArtifact,
    ReplyState,
)
from a2a_adapters.contract.events import (
    PROGRESS_EXTENSION,
    Progress,
    ProgressEvent,
    TextDelta,
    ToolCall,
    ToolResult,
)
from a2a_adapters.contract.parts import JSON, Data, Part, Text, join_text
from a2a_adapters.contract.text import as_text
from a2a_adapters.protocol import states
from a2a_adapters.protocol.conversion import from_protocol, message_parts, struct_to_dict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from a2a.types import (
        Artifact,
        Message,
        StreamResponse,
        Task,
        TaskArtifactUpdateEvent,
        TaskStatus,
    )
    from a2a.types import Part as ProtocolPart

NewEvent: TypeAlias = TextDelta | ProgressEvent

_COMPLETED = re.compile(
    r"(the )?(task|run)( (has|is|was))?( been)? (completed|finished|done)( successfully)?[.!]?",
    re.IGNORECASE,
)

_STATES: dict[TaskState, ReplyState] = {
    states.UNSPECIFIED: "unknown",
    states.SUBMITTED: "submitted",
    states.WORKING: "working",
    states.COMPLETED: "completed",
    states.FAILED: "failed",
    states.CANCELED: "canceled",
    states.REJECTED: "rejected",
    states.INPUT_REQUIRED: "input-required",
    states.AUTH_REQUIRED: "auth-required",
}


class Answer:
    """Folds the events of one answer.

    Args:
        status_text: Whether messages of working statuses are text of the answer; None to recognise
            it by the messages.

    Attributes:
        is_stream: Whether more events may follow a Message, or the task's state from before the
            message.
        is_settled: Whether the task is terminal or interrupted.
        old_status: A status that does not settle the task: the question that was answered.
        ends_with_message: Whether the last event is a Message about a task.
        has_unknown_events: Whether events of unknown kinds were ignored.
    """

    def __init__(self, *, status_text: bool | None = False) -> None:
        self.task_id = ""
        self.context_id = ""
        self.is_stream = False
        self.is_settled = False
        self.old_status: TaskStatus | None = None
        self.ends_with_message = False
        self.has_unknown_events = False
        self._may_show_question = False
        self._state = states.UNSPECIFIED
        self._known: Mapping[str, Sequence[Part]] = {}
        self._artifacts: dict[str, PartialArtifact] = {}
        self._metadata: dict[str, JSON] = {}
        self._message: Sequence[Part] | None = None
        self._asides: Sequence[Part] = ()
        self._status_parts: Sequence[Part] = ()
        self._status_ids: set[str] = set()
        self._working_texts: list[str] = []
        self._working = WorkingText() if status_text else None
        self._recognises = status_text is None
        self._last_said: Sequence[Part] = ()
        self._speaker = ""
        self._has_others = False
        """Whether a file or data has arrived."""

    @property
    def is_old_question(self) -> bool:
        """Whether only the question that was answered is known."""
        return self._state in states.INTERRUPTED and not self.is_settled

    @property
    def has_status_text(self) -> bool | None:
        """Whether the text comes in statuses; None until an event has shown it."""
        if self._artifacts:
            return False
        return True if self._working is not None and self._working.text else None

    def ignore(self, task: Task | None) -> None:
        """Exclude the task's content from before the message; None if it is unknown."""
        self._may_show_question = task is None
        if task is None:
            return
        self._known = {
            artifact.artifact_id: [from_protocol(part) for part in artifact.parts]
            for artifact in task.artifacts
        }
        self._status_ids.add(task.status.message.message_id)
        if task.status.state in states.INTERRUPTED:
            self.old_status, self._may_show_question = task.status, True

    def fold(self, event: StreamResponse) -> list[NewEvent]:
        """Add an event and return the new events for a reader."""
        kind = event.WhichOneof("payload")
        self.ends_with_message = False
        if self._may_show_question:
            self._may_show_question = False
            if kind == "task" and self.is_stream and self._is_question_again(event.task.status):
                self.old_status = event.task.status
        match kind:
            case "artifact_update":
                return self._fold_chunk(event.artifact_update)
            case "status_update":
                update = event.status_update
                if self._is_foreign(update.task_id):
                    return []
                self._note_ids(update.task_id, update.context_id)
                self._metadata |= struct_to_dict(update.metadata)
                self.old_status = None  # an update comes after the message, even if it is equal
                return self._fold_status(update.status)
            case "task":
                return self.fold_task(event.task)
            case "message":
                return self._fold_message(event.message)
            case _:
                self.has_unknown_events = True
                return []

    def settle(self) -> None:
        """End the answer with the last event, because the agent sends no more about its task."""
        self.is_settled = True
        if self.ends_with_message:
            self._message, self._state = self._asides, states.COMPLETED

    def append_text(self, artifact_id: str, text: str) -> list[NewEvent]:
        """Add a chunk of text to a known artifact and return the new events for a reader."""
        return self._say(artifact_id, self._artifacts[artifact_id].append_text(text))

    def fold_task(self, task: Task) -> list[NewEvent]:
        """Add a snapshot of the task and return the new events for a reader."""
        self._note_ids(task.id, task.context_id)
        self._metadata |= struct_to_dict(task.metadata)
        news: list[NewEvent] = []
        for artifact in task.artifacts:
            growing = self._growing(artifact)
            text = growing.replace(map(from_protocol, artifact.parts))
            self._has_others = self._has_others or growing.has_others
            news += self._say(growing.id, text)
        if task.history and task.history[-1].role == Role.ROLE_AGENT:
            self._last_said = message_parts(task.history[-1])
        return news + self._fold_status(task.status)

    def _fold_chunk(self, update: TaskArtifactUpdateEvent) -> list[NewEvent]:
        if self._is_foreign(update.task_id):
            return []
        self._note_ids(update.task_id, update.context_id)
        if self.old_status is not None:
            self._note_work()
        artifact = update.artifact
        growing = self._growing(artifact)
        if not update.append:
            text = growing.replace(map(from_protocol, artifact.parts))
        elif len(artifact.parts) == 1 and _is_plain_text(part := artifact.parts[0]):
            text = growing.append_text(part.text)
        else:
            text = growing.append(map(from_protocol, artifact.parts))
        self._has_others = self._has_others or growing.has_others
        return self._say(growing.id, text)

    def _fold_status(self, status: TaskStatus) -> list[NewEvent]:
        self._state = status.state
        if status != self.old_status:
            self.old_status = None
        self.is_settled = status.state in states.SETTLED and self.old_status is None
        if not status.HasField("message"):
            self._status_parts = ()
            return []
        message = status.message
        self._status_parts = parts = message_parts(message)
        if self.is_settled or message.message_id in self._status_ids:
            return []
        self._status_ids.add(message.message_id)
        if PROGRESS_EXTENSION in message.extensions:
            return [_progress(parts)]
        text = join_text(parts)
        data = next((part.value for part in parts if isinstance(part, Data)), None)
        if self._working is not None and text:
            news = self._say_working(text)
            return news if data is None else [*news, Progress("", data)]  # type: ignore[arg-type]
        self._working_texts.append(text)
        if self._recognises and not self._artifacts and _are_pieces(self._working_texts):
            self._working = WorkingText()
            return [new for each in self._working_texts for new in self._say_working(each)]
        return [Progress(text, data)]  # type: ignore[arg-type]

    def _say_working(self, text: str) -> list[NewEvent]:
        return self._say("", self._working.add(text)) if self._working is not None else []

    def _fold_message(self, message: Message) -> list[NewEvent]:
        self._note_ids(message.task_id, message.context_id)
        self._metadata |= struct_to_dict(message.metadata)
        parts = message_parts(message)
        if self.is_stream and self.task_id:
            self._note_work()
            self.ends_with_message = True
            self._last_said = self._asides = (*self._asides, *parts)
            data = next((part.value for part in parts if isinstance(part, Data)), None)
            return [Progress(join_text(parts), data)]  # type: ignore[arg-type]
        self._message = parts
        self._has_others = not all(isinstance(part, Text) for part in parts)
        self._state = states.COMPLETED
        self.is_settled = True
        return self._say(message.message_id, join_text(parts))

    def _is_question_again(self, status: TaskStatus) -> bool:
        """Return whether a status is, or may be, the question that was answered."""
        if status.state not in states.INTERRUPTED or self.old_status is None:
            return status.state in states.INTERRUPTED
        old = self.old_status
        return status.state == old.state and status.message.parts == old.message.parts

    def _note_work(self) -> None:
        if self.is_old_question:
            self._state, self._status_parts = states.WORKING, ()

    def _growing(self, artifact: Artifact) -> PartialArtifact:
        artifact_id = artifact.artifact_id
        growing = self._artifacts.get(artifact_id)
        if growing is None:
            said = self._working.text if self._working and not self._speaker else ""
            growing = PartialArtifact(artifact_id, self._known.get(artifact_id, ()), said)
            self._artifacts[artifact_id] = growing
        growing.name = artifact.name or growing.name
        growing.description = artifact.description or growing.description
        growing.extensions = tuple(artifact.extensions) or growing.extensions
        if artifact.HasField("metadata"):
            growing.metadata = {**growing.metadata, **struct_to_dict(artifact.metadata)}
        return growing

    def _is_foreign(self, task_id: str) -> bool:
        return bool(self.task_id and task_id) and task_id != self.task_id

    def _note_ids(self, task_id: str, context_id: str) -> None:
        self.task_id = task_id or self.task_id
        self.context_id = context_id or self.context_id

    def _say(self, speaker: str, text: str, kind: type[TextDelta] = TextDelta) -> list[NewEvent]:
        if not text:
            return []
        if self._speaker and speaker != self._speaker:
            text = f"\n{text}"
        self._speaker = speaker
        return [LaterText(text) if self._has_others and kind is TextDelta else kind(text)]

    def finish(self) -> tuple[list[NewEvent], AgentReply]:
        """Return the events not reported yet, and the complete answer."""
        artifacts: list[RemoteArtifact] = []
        parts: list[Part] = []
        texts: list[str] = []
        for growing in self._artifacts.values():
            if news := growing.news():
                artifact, text = news
                artifacts.append(artifact)
                parts += self._results(artifact)
                texts.append(text)
        rest = self._rest(parts, has_text=any(texts))
        late = join_text(rest)
        reply = AgentReply(
            text="\n".join(filter(None, (*texts, late))),
            parts=(*parts, *rest),
            state=_STATES.get(self._state, "unknown"),
            task_id=self.task_id,
            context_id=self.context_id,
            metadata=self._metadata,
            status_parts=self._status_parts,
            artifacts=artifacts,
            is_corrected=any(growing.is_corrected for growing in self._artifacts.values()),
        )
        if self._message is not None and self._message is not self._asides:
            return [], reply
        kind = Question if self._state in states.INTERRUPTED else TextDelta
        if self._working is not None and self._working.text and not self._speaker:
            return self._say("", self._working.rest(late), kind), reply
        return self._say("status", late, kind), reply

    def _results(self, artifact: RemoteArtifact) -> Sequence[Part]:
        """Return an artifact's parts; move the questions of a graph's interrupts to the status."""
        asked = _interrupts(artifact) if self._state in states.INTERRUPTED else ()
        if not asked:
            return artifact.parts
        said = () if _says_nothing(self._status_parts) else self._status_parts
        self._status_parts = (*said, *(part for part in asked if part not in said))
        return ()

    def _rest(self, parts: Sequence[Part], *, has_text: bool) -> Sequence[Part]:
        """Return the parts of the answer that are not in artifacts."""
        if self._message is not None:
            return self._message
        if self._state in states.INTERRUPTED:
            return self._status_parts
        if self._last_said and not parts and _says_nothing(self._status_parts):
            return self._last_said
        rest = [
            part
            for part in self._status_parts
            if part not in parts and not (has_text and isinstance(part, Text))
        ]
        if rest or parts or not self.is_settled:
            return rest
        if self._working is not None and self._working.text:
            return [Text(self._working.whole)]
        return self._last_said or [Text(text) for text in _unrepeated(self._working_texts)]


def _interrupts(artifact: RemoteArtifact) -> Sequence[Part]:
    """Return the questions in an artifact, each with its response schema if it has one.

    langgraph-api 0.16 sends the arguments of `interrupt()` as data, `{"id": ..., "value": ...}`, in
    an artifact of this name. Its status message is the graph's preceding text.
    """
    if artifact.name != "Interrupt":
        return ()
    asked: list[Part] = []
    for part in artifact.parts:
        match part:
            case Data(value={"id": _, "value": value, **more}):
                asked.append(Text(value if isinstance(value, str) else as_text([Data(value)])))
                if schema := more.get("response_schema"):
                    asked.append(Data(schema))
            case _:
                return ()
    return asked


def _says_nothing(parts: Sequence[Part]) -> bool:
    """Return whether a status message only repeats the status, as langgraph-api's does."""
    return _COMPLETED.fullmatch(join_text(parts).strip()) is not None


def _are_pieces(texts: Sequence[str]) -> bool:
    """Return whether texts of status messages are pieces of one text, not reports of progress.

    The last one then continues the one before: it repeats and extends it, or there is a blank or a
    punctuation mark between the two.
    """
    if len(texts) < 2 or not (texts[-1] and texts[-2]):
        return False
    before, after = texts[-2:]
    grows = after.startswith(before) and after != before
    return grows or after[0] in _BETWEEN or before[-1].isspace()


_BETWEEN = frozenset(" \n\t,.;:!?)'")


def _unrepeated(texts: Sequence[str]) -> list[str]:
    """Join the texts of status messages, which may be deltas or snapshots."""
    if not any(texts):
        return []
    are_snapshots = all(after.startswith(before) for before, after in pairwise(texts))
    return [texts[-1]] if are_snapshots else ["".join(texts)]


def _is_plain_text(part: ProtocolPart) -> bool:
    return part.HasField("text") and not part.HasField("metadata") and not part.media_type


def _progress(parts: Sequence[Part]) -> ProgressEvent:
    """Decode a message of `PROGRESS_EXTENSION`."""
    value = next((part.value for part in parts if isinstance(part, Data)), None)
    event = value if isinstance(value, dict) else {}
    call_id, name = str(event.get("id", "")), str(event.get("name", ""))
    match event.get("type"):
        case "tool_call":
            return ToolCall(call_id, name, event.get("arguments"))
        case "tool_result":
            is_error = bool(event.get("is_error"))
            return ToolResult(call_id, name, event.get("result"), is_error)
        case _:
            return Progress(join_text(parts), event.get("data"))


class PartialArtifact:
    """An artifact that arrives in chunks, snapshots and repetitions.

    Text parts are joined without separators, because agents send tokens as parts.

    Args:
        artifact_id: The artifact's id.
        known: Its parts before the message that is being answered.
        said: Text of the answer that arrived before the artifact.
    """

    def __init__(self, artifact_id: str, known: Sequence[Part] = (), said: str = "") -> None:
        self.id = artifact_id
        self.name = ""
        self.description = ""
        self.extensions: tuple[str, ...] = ()
        self.metadata: Mapping[str, JSON] = {}
        self._known = known
        self.has_others = False
        """Whether the artifact has new parts other than text."""
        self._parts = list(known)
        self._run: list[str] = []
        self._known_text = _text_of(known)
        self._shown = said or self._known_text
        self._is_corrected = False
        self._is_shown = not said
        """Whether all text so far has been returned; `_shown` is then out of date."""

    def append_text(self, text: str) -> str:
        """Append a chunk of plain text and return its new part."""
        self._run.append(text)
        return text if self._is_shown else self._news()

    def append(self, parts: Iterable[Part]) -> str:
        """Append parts and return the new text."""
        shown = self._shown_text()
        for part in parts:
            if _is_plain(part):
                self._run.append(part.text)
            else:
                self._end_run()
                self._parts.append(part)
        others = (part for part in self._parts if not isinstance(part, Text))
        self.has_others = any(part not in self._known for part in others)
        self._shown, self._is_shown = shown, False
        return self._news()

    def replace(self, parts: Iterable[Part]) -> str:
        """Replace all parts and return the new text.

        Text that contradicts earlier results is returned completely, on a new line.
        """
        self._shown, self._is_shown = self._shown_text(), False
        self._parts.clear()
        self._run.clear()
        return self.append(parts)

    def _news(self) -> str:
        text = self.text
        if self._shown.startswith(text) and self._shown != text:
            return ""  # an older snapshot; later ones will catch up
        self._is_shown = True
        if text.startswith(self._shown):
            return text[len(self._shown) :]
        if self._shown == self._known_text:
            return text
        self._is_corrected = True
        return f"\n{text}"

    @property
    def is_corrected(self) -> bool:
        """Whether text was returned that is no longer part of the artifact."""
        return self._is_corrected or not (self._is_shown or self.text.startswith(self._shown))

    def _shown_text(self) -> str:
        return self.text if self._is_shown else self._shown

    def _end_run(self) -> None:
        if self._run:
            self._parts.append(Text("".join(self._run)))
            self._run.clear()

    @property
    def text(self) -> str:
        """All text so far."""
        return _text_of(self._parts) + "".join(self._run)

    def news(self) -> tuple[RemoteArtifact, str] | None:
        """Return the artifact without its known parts, and its text; None if nothing is new."""
        self._end_run()
        parts = _merged(self._parts)
        known = _merged(self._known)
        if parts[: len(known)] == known:
            parts = parts[len(known) :]
        elif known and _continues(parts, known):
            last = len(known) - 1
            rest = Text(_text_of(parts[last : last + 1])[len(_text_of(known[last:])) :])
            parts = [rest, *parts[last + 1 :]]
        if not parts:
            return None
        artifact = RemoteArtifact(
            id=self.id,
            parts=parts,
            name=self.name,
            description=self.description,
            metadata=self.metadata,
            extensions=self.extensions,
        )
        return artifact, _text_of(parts)


def _text_of(parts: Iterable[Part]) -> str:
    """Return the text of all text parts, without separators."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def _is_plain(part: Part) -> TypeGuard[Text]:
    return isinstance(part, Text) and not part.metadata and not part.media_type


def _merged(parts: Iterable[Part]) -> list[Part]:
    """Join adjacent text parts."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if _is_plain(part) and last is not None and _is_plain(last):
            merged[-1] = Text(last.text + part.text)
        elif not isinstance(part, Text) or part.text:
            merged.append(part)
    return merged


def _continues(parts: Sequence[Part], known: Sequence[Part]) -> bool:
    """Return whether `parts` start with `known`, whose last text may have grown."""
    last = len(known) - 1
    if parts[:last] != known[:last] or len(parts) <= last:
        return False
    part, before = parts[last], known[last]
    return isinstance(part, Text) and isinstance(before, Text) and part.text.startswith(before.text)


class WorkingText:
    """Joins the texts of working statuses, which are deltas or growing snapshots.

    The first two texts of a message show which. A text that equals the message so far only repeats
    it: google-adk ends its deltas, and langgraph-api its snapshots, in this way.

    Attributes:
        text: The current message.
    """

    def __init__(self) -> None:
        self.text = ""
        self._earlier: list[str] = []
        self._are_snapshots: bool | None = None
        self._is_over = False

    def add(self, text: str) -> str:
        """Add the text of a status and return its new part."""
        said = self.text
        if text == said:
            self._is_over = not self._are_snapshots
            return ""
        if said and text.startswith(said) and self._are_snapshots is not False:
            self._are_snapshots, self._is_over, self.text = True, False, text
            return text[len(said) :]
        if said and not self._are_snapshots and not self._is_over:
            self._are_snapshots, self.text = False, said + text
            return text
        if said:
            self._earlier.append(said)
        self._is_over, self.text = False, text
        return f"\n{text}" if said else text

    def rest(self, text: str) -> str:
        """Return the part of a final text that has not been returned, or all on a new line."""
        for said in (self.whole, self.text):
            if text.startswith(said):
                return text[len(said) :]
        return f"\n{text}" if text else ""

    @property
    def whole(self) -> str:
        """All messages, one per line."""
        return "\n".join([*self._earlier, self.text])
