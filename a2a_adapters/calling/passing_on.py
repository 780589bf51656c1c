"""Passes the answer of a remote agent on, as the events of an adapter."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from a2a_adapters.calling.reply import AgentReply, RemoteArtifact
from a2a_adapters.contract.events import AgentEvent, AnswerText, Output
from a2a_adapters.contract.parts import Text
from a2a_adapters.contract.text import BLANK_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def passed_on(
    artifacts: Iterable[RemoteArtifact], earlier: Sequence[Sequence[RemoteArtifact]] | None = None
) -> list[AgentEvent]:
    """Return artifacts as the text of an answer, with their files and data in their places.

    Args:
        artifacts: The artifacts of the last message's answer, see `answer_of`.
        earlier: Those of each earlier message of the task, which may have changed; None if they
            are not known.
    """
    texts = (_text_of(each) for each in earlier or ())
    said, of_task = BLANK_LINE.join(filter(None, texts)), earlier is not None
    events: list[AgentEvent] = []
    separator = BLANK_LINE if said else ""
    for piece in _pieces(artifacts):
        if isinstance(piece, Output):
            events += [AnswerText(said, of_task=of_task), piece]
        else:
            said += separator + piece
            separator = ""
    return [*events, AnswerText(said, of_task=of_task)]


def answer_of(reply: AgentReply) -> list[RemoteArtifact]:
    """Return the artifacts of an answer, and one for each other part."""
    if reply.is_question:
        return [*reply.artifacts]
    sent = [part for artifact in reply.artifacts for part in artifact.parts]
    others = reply.parts[len(sent) :]
    new = [part for part in others if isinstance(part, Text) or part not in sent]
    return [*reply.artifacts, *(RemoteArtifact(id="", parts=[part]) for part in new)]


def _text_of(artifacts: Iterable[RemoteArtifact]) -> str:
    return "".join(piece for piece in _pieces(artifacts) if isinstance(piece, str))


def _pieces(artifacts: Iterable[RemoteArtifact]) -> Iterator[str | Output]:
    """Yield the texts of artifacts, with what separates them from earlier ones, and other parts."""
    has_said = is_behind = False
    for artifact in artifacts:
        separator = "\n" if has_said else ""
        for is_text, group in groupby(artifact.parts, lambda part: isinstance(part, Text)):
            parts = [*group]
            if not is_text:
                name, description = artifact.name, artifact.description
                yield Output(parts, name, description, metadata=artifact.metadata)
                is_behind = True
            elif text := "".join(part.text for part in parts if isinstance(part, Text)):
                yield 2 * separator + text if is_behind else separator + text
                has_said, is_behind, separator = True, False, ""
