"""One run: finds its task, sends the messages, folds the events, resumes after a disconnection."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from a2a.types import CancelTaskRequest, Message, SendMessageRequest
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError
from a2a_adapters_openai.dialect_run import DialectRun, ended, find_task, subscribed
from a2a_adapters_openai.errors import ApiError
from a2a_adapters_openai.messages import to_parts
from a2a_adapters_openai.turns import is_waiting
from google.protobuf.message import Error as ProtobufError

from a2a_adapters import RemoteArtifact, Text
from a2a_adapters.dialects import message_parts, user_message
from a2a_adapters.plugin import A2UI_EXTENSION
from a2a_adapters_ag_ui.front_end import STATE
from a2a_adapters_ag_ui.serving.questions import answer_part, interrupt_id, tool_use
from a2a_adapters_ag_ui.serving.threads import KnownRun, Thread, Threads, digest

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.types import Artifact, StreamResponse, Task

    from a2a_adapters import Part, TextDelta
    from a2a_adapters.dialects import Answer, DialectAgent
    from a2a_adapters.plugin import ProgressEvent
    from a2a_adapters_ag_ui.serving.input import Asked

    RunEvent: TypeAlias = TextDelta | ProgressEvent | RemoteArtifact
    AgentRun: TypeAlias = DialectRun[RunEvent]


class Turn:
    """Sends a run of a thread to an agent.

    The context of A2A is the thread; the run is a message to a new task, or to the one that asked.

    Args:
        agent: The agent.
        context: The caller.
        asked: The input.

    Attributes:
        is_known: Whether the run was started before, by an earlier request that was lost.
    """

    def __init__(self, agent: DialectAgent, context: ServerCallContext, asked: Asked) -> None:
        self._agent = agent
        self._context = context
        if asked.shows_interfaces:
            context.requested_extensions = {*context.requested_extensions, A2UI_EXTENSION}
        self._asked = asked
        self._threads = Threads(agent.storage, context.user.user_name)
        self._thread = Thread()
        self.is_known = False
        self._is_stored = False
        self._before: Task | None = None

    async def begin(self) -> AgentRun | None:
        """Send the new messages to the agent, or follow the run if it was started before.

        Returns:
            The run; None if there is nothing to do.

        Raises:
            A2AError: The message was refused.
            ApiError: The input does not fit the thread, or cannot be sent.
        """
        given = self._asked.input
        self._thread = await self._threads.read(given.thread_id)
        known = self._thread.run(self._asked.key)
        if known is not None and known.task_id:
            self.is_known = self._is_stored = True
            return await self._join(known)
        waiting = await self._waiting()
        if waiting is None:
            self._check_resume("")
        elif (answer := await self._answer(waiting)) is not None:
            return await self._send(answer, waiting)
        parts = self._message()
        if parts is None and given.resume:
            return None
        if parts is None:
            raise ApiError(400, "the last message must be the user's", code="no_message")
        return await self._send(parts, None)

    async def note(self, run: AgentRun) -> None:
        """Store the run, once its task is known."""
        answer = run.answer
        if self._is_stored or not answer.context_id:
            return
        self._is_stored = True
        known = KnownRun.of(self._asked.key, answer.task_id, self._before)
        around = digest(self._asked.surroundings())
        await self._threads.add(self._asked.input.thread_id, known, around)

    async def question(self, run: AgentRun) -> Task | None:
        """Return the task of a run if it waits for an answer."""
        task = await find_task(self._agent, run.answer.task_id, self._context)
        return task if task is not None and is_waiting(task) else None

    async def withdrawn(self, run: AgentRun) -> list[str]:
        """Return the texts of answers to the task's earlier messages that a run has corrected."""
        if self._before is None:
            return []
        task = await find_task(self._agent, run.answer.task_id, self._context)
        now = {each.artifact_id: _text(each) for each in task.artifacts} if task else {}
        before = {each.artifact_id: _text(each) for each in self._before.artifacts}
        return [
            text
            for name, text in before.items()
            if text and not now.get(name, text).startswith(text)
        ]

    async def _waiting(self) -> Task | None:
        if not self._thread.runs or not (task_id := self._thread.runs[-1].task_id):
            return None
        task = await find_task(self._agent, task_id, self._context)
        return task if task is not None and is_waiting(task) else None

    async def _answer(self, waiting: Task) -> list[Part] | None:
        """Return the answer to the open question; None if it was abandoned.

        Raises:
            ApiError: The question is left open, or another one is answered.
        """
        open_id = interrupt_id(waiting)
        self._check_resume(open_id)
        entries = self._asked.input.resume or ()
        entry = next((each for each in entries if each.interrupt_id == open_id), None)
        if entry is not None and entry.status == "resolved":
            return [answer_part(waiting, entry.payload)]
        if entry is None:
            if tool_use(waiting) is None:
                text = "the agent's question is open: answer or cancel it with `resume`"
                raise ApiError(400, text, code="interrupt_open")
            if (result := self._asked.result(open_id)) is not None:
                return [Text(result), *to_parts(self._asked.news())]
        with suppress(TaskNotCancelableError):  # it ended meanwhile
            params = CancelTaskRequest(id=waiting.id)
            await self._agent.handler.on_cancel_task(params, self._context)
        return None

    def _check_resume(self, open_id: str) -> None:
        """Refuse answers to questions that are not open; abandoning one twice does no harm."""
        for entry in self._asked.input.resume or ():
            if entry.interrupt_id != open_id and entry.status == "resolved":
                text = "this question is not open, or no longer; cancel it to go on"
                raise ApiError(400, text, code="interrupt_unknown")

    def _message(self) -> list[Part] | None:
        """Return the user's messages since the last run, None if there are none."""
        news = self._asked.news()
        said = [part for each in news for part in each.parts]
        if not any(not isinstance(part, Text) or part.text.strip() for part in said):
            return None
        around = self._asked.surroundings()
        if not self._thread.runs:
            return to_parts([*around, *self._asked.history()])
        is_changed = digest(around) != self._thread.surroundings
        return to_parts([*(around if is_changed else ()), *news])

    async def _send(self, parts: list[Part], before: Task | None) -> AgentRun:
        given = self._asked.input
        try:
            message = user_message(
                parts,
                given.thread_id,
                before.id if before is not None else "",
                self._asked.metadata(),
                # The same for each attempt, so that the runtime recognises a second one.
                str(uuid5(NAMESPACE_URL, f"{given.thread_id}\n{self._asked.key}")),
            )
        except (ValueError, TypeError, RecursionError, ProtobufError) as error:
            raise ApiError(400, f"the message cannot be sent: {error}") from error
        run: AgentRun = DialectRun(self._agent, self._context, before)
        request = SendMessageRequest(message=message)
        batches = self._agent.follow(request, self._context, Fold(run.answer))
        await run.begin(batches)
        self._before = before
        await self.note(run)
        return run

    async def _join(self, known: KnownRun) -> AgentRun:
        task = await find_task(self._agent, known.task_id, self._context)
        if task is None:
            raise ApiError(404, "this run is no longer stored", code="run_unknown")
        if not self._thread.is_last_of_task(known):
            raise ApiError(400, "this run was continued by a later one", code="run_continued")
        before = known.before(task)
        run: AgentRun = DialectRun(self._agent, self._context, before)
        fold = Fold(run.answer).fold
        try:
            await run.begin(subscribed(self._agent, task, self._context, run.answer, fold))
        except UnsupportedOperationError:  # it has ended
            run = DialectRun(self._agent, self._context, before)
            await run.begin(ended(self._agent, task, self._context, Fold(run.answer).fold))
        return run


def _text(artifact: Artifact) -> str:
    return "".join(part.text for part in artifact.parts)


class Fold:
    """Folds the events of a task into an answer.

    Args:
        answer: The answer.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def fold(self, event: StreamResponse) -> list[RunEvent]:
        """Add an event and return the changes for a front end."""
        news: list[RunEvent] = [*self._answer.fold(event)]
        if event.HasField("artifact_update"):
            artifact = event.artifact_update.artifact
            made = RemoteArtifact(
                id=artifact.artifact_id,
                parts=message_parts(Message(parts=artifact.parts)),
                name=artifact.name,
                extensions=tuple(artifact.extensions),
            )
            if is_followed(made):
                news.append(made)
        return news

    def append_text(self, artifact_id: str, text: str) -> list[RunEvent]:
        """Append text to an artifact and return the changes for a front end."""
        # A list of fewer kinds of events; copying it for each chunk is slow.
        return self._answer.append_text(artifact_id, text)  # type: ignore[return-value]


def is_followed(artifact: RemoteArtifact) -> bool:
    """Return whether an artifact is the shared state or an interface, rather than an answer."""
    return artifact.name == STATE or A2UI_EXTENSION in artifact.extensions
