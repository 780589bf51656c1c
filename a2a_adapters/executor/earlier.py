"""The past of a task: its earlier messages, and an interrupted answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from a2a.types import Role

from a2a_adapters.contract.adapter import Exchange
from a2a_adapters.contract.events import InputRequired
from a2a_adapters.contract.parts import Text
from a2a_adapters.protocol.conversion import (
    ARTIFACTS,
    answered_question,
    is_durable,
    is_resumed,
    message_parts,
    metadata_of,
    question_metadata,
    question_of,
)
from a2a_adapters.protocol.messages import ANSWER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.agent_execution import RequestContext
    from a2a.types import Artifact, Message, Task

    from a2a_adapters.contract.adapter import AgentRequest
    from a2a_adapters.executor.files import FileFetcher
    from a2a_adapters.executor.history import History

NO_LONGER_WAITING = (
    "The agent no longer waits for this answer: it took too long or the agent was restarted. "
    "Please start a new task."
)


@dataclass(frozen=True, slots=True)
class CutOff:
    """The state of the answer to a task's last message when its process died."""

    artifacts: Sequence[Artifact]
    """The artifacts of the task before this run."""
    said: str
    """The text."""


def questions_of(task: Task | None) -> int:
    """Return how many questions a task has asked."""
    return len(_exchanges(task))


def _exchanges(task: Task | None) -> list[tuple[Message, Message]]:
    """Return the messages that led to a question, each with its question."""
    if task is None:
        return []
    said = list(task.history)
    if task.status.HasField("message"):
        said.append(task.status.message)
    pairs = pairwise(said)
    return [(a, b) for a, b in pairs if (a.role, b.role) == (Role.ROLE_USER, Role.ROLE_AGENT)]


def is_too_late(context: RequestContext) -> bool:
    """Return whether a message answers a question whose waiting run is lost."""
    question = question_of(context)
    return question is not None and not is_durable(question)


def cut_off(context: RequestContext, task: Task) -> CutOff | None:
    """Return the state of the answer, if a dead process has begun it."""
    if not is_resumed(context):
        return None
    question = answered_question(task)
    before = _artifacts_before(question) if question is not None else 0
    answers = [artifact for artifact in task.artifacts[before:] if artifact.name == ANSWER]
    said = "".join(part.text for artifact in answers for part in artifact.parts)
    return CutOff(task.artifacts[:before], said)


def _artifacts_before(question: Message) -> int:
    return int(question.metadata.fields[ARTIFACTS].number_value)


class Earlier:
    """Returns the messages of a task before the current request."""

    def __init__(
        self, context: RequestContext, request: AgentRequest, files: FileFetcher, history: History
    ) -> None:
        self._context = context
        self._request = request
        self._files = files
        self._history = history

    @property
    def count(self) -> int:
        """The number of earlier messages."""
        return questions_of(self._context.current_task)

    async def __call__(self) -> Sequence[Exchange]:
        """Return them, oldest first.

        Raises:
            InvalidInputError: A file is no longer available.
        """
        found: list[Exchange] = []
        answered: Message | None = None
        for number, (message, question) in enumerate(_exchanges(self._context.current_task)):
            history = tuple(await self._history.recall_before(self._request, number))
            past = replace(await self._past(message, answered), history=history)
            request = await self._files.fetched(past)
            found.append(Exchange(request, _question(question)))
            answered = question
        return found

    async def _past(self, message: Message, answered: Message | None) -> AgentRequest:
        rest_of_request = getattr(
            self._context, "rest_of_request", None
        )  # only in our runtime's context
        metadata = metadata_of(message)
        if rest_of_request is not None:
            metadata = metadata_of(await rest_of_request(message)) | metadata
        return replace(
            self._request,
            parts=message_parts(message),
            message=message,
            metadata=metadata,
            resuming=answered is not None,
            resume_metadata=question_metadata(answered) if answered is not None else {},
            said="",
        )


def _question(message: Message) -> InputRequired:
    parts = message_parts(message)
    prompt = parts[0].text if parts and isinstance(parts[0], Text) else ""
    return InputRequired(
        prompt,
        parts[1:] if prompt else parts,
        metadata=question_metadata(message),
        durable=is_durable(message),
    )
