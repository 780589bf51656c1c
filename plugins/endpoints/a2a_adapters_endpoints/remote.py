"""Serves a remote A2A agent with this server's authentication, storage, limits and dialects."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Self

from a2a_adapters import (
    AgentEvent,
    AgentReply,
    AgentRequest,
    AuthRequired,
    BearerAuth,
    InputRequired,
    Output,
    Part,
    Question,
    Rejected,
    RemoteAgent,
    RemoteAgentError,
    RemoteArtifact,
    RemoteOptions,
    RemoteTaskError,
    TaskMetadata,
    Text,
    TextDelta,
)
from a2a_adapters.dialects import artifact_text, struct_to_dict
from a2a_adapters.plugin import (
    HELD_TEXT_EXTENSION,
    JSON,
    Adapter,
    AgentDescription,
    AgentFailedError,
    AnswerText,
    Extension,
    StateStorage,
    as_json,
    check_arguments,
)
from a2a_adapters_endpoints.words import WordParser, token_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

    from a2a.types import AgentCard

__all__ = ["RemoteA2AAgent"]

_KIND = "remote"

_HELD = Extension(
    uri=HELD_TEXT_EXTENSION,
    description="Text is sent after the guardrails of the remote agent have accepted it.",
    params={"held": True},
)


class RemoteA2AAgent:
    """A remote agent as a target: `serve(RemoteA2AAgent("https://agents.example.com#travel"))`.

    Each conversation of a caller has its own conversation with the remote agent, and the remote
    agent's questions become questions to the caller. The connection is opened when serving
    starts.

    Args:
        url: The agent's address, or its server's address with `#` and the agent's name.
        token: A bearer token.
        options: Options for the calls.
    """

    def __init__(
        self, url: str, *, token: str | None = None, options: RemoteOptions | None = None
    ) -> None:
        check_arguments(RemoteA2AAgent, locals())
        auth = BearerAuth(token) if token else None
        self._agent = RemoteAgent(url, auth=auth, options=options or RemoteOptions(progress=True))

    @classmethod
    def of_word(cls, word: str) -> Self:
        """Return the agent for the text after `a2a:`.

        Raises:
            ConfigurationError: The text is invalid.
        """
        parser = WordParser("a2a")
        parser.add_argument("--token-env", metavar="NAME", help="the variable with the token")
        parser.add_argument("url")
        options = parser.read(word)
        return cls(options.url, token=token_of(options.token_env))

    async def __aenter__(self) -> Adapter:
        """Read the agent's card.

        Raises:
            RemoteAgentError: The card cannot be read.
        """
        about, card = await self._agent.describe(), await self._agent.card()
        return _RemoteAdapter(self._agent, about, _is_held(card))

    async def __aexit__(self, *_: object) -> None:
        await self._agent.aclose()


class _RemoteAdapter(Adapter):
    """Forwards messages to a remote agent.

    Args:
        agent: The remote agent.
        about: The description from its card.
        is_held: Whether the agent sends text after its guardrails have accepted it; None if its
            card does not say.
    """

    def __init__(self, agent: RemoteAgent, about: AgentDescription, is_held: bool | None) -> None:
        self._agent = agent
        self._about = replace(about, extensions=[*about.extensions, _HELD]) if is_held else about
        self._storage: StateStorage | None = None
        self.holds_text = is_held is False

    def describe(self) -> AgentDescription:
        """Return the description from the remote agent's card."""
        return self._about

    async def open(self, storage: StateStorage) -> None:
        """Store the remote conversations in the server's storage."""
        self._storage = storage

    async def stream(
        self, request: AgentRequest
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Forward a message to the remote agent, and its answer to the caller.

        Raises:
            AgentFailedError: The remote task failed; the text comes from the remote agent.
            RemoteAgentError: The remote agent cannot be called.
        """
        task_id = str(request.resume_metadata.get("task_id", ""))
        earlier = _earlier(request)
        has_said = False
        sending = self._agent.stream(
            request.parts,
            context_id=await self._context_of(request),
            task_id=task_id,
            metadata=request.metadata,
        )
        try:
            async with aclosing(sending) as events:
                async for event in events:
                    if isinstance(event, AgentReply):
                        await self._keep(request, event.context_id)
                        for part in await self._accepted(event, earlier):
                            yield part
                        for last in _last_events(event, earlier):
                            yield last
                    elif isinstance(event, Question):
                        continue  # it is part of the reply
                    elif isinstance(event, TextDelta) or request.wants_progress:
                        has_said = has_said or isinstance(event, TextDelta)
                        yield event
        except RemoteTaskError as error:
            await self._keep(request, error.context_id)
            if has_said:
                yield AnswerText(artifact_text(error.reply.artifacts))
            if error.state == "rejected":
                yield Rejected(str(error))
            else:
                raise AgentFailedError("internal", str(error)) from error

    async def abandon(self, request: AgentRequest) -> None:
        """Cancel the remote task that waits for an answer."""
        if task_id := request.resume_metadata.get("task_id"):
            await self._agent.cancel(str(task_id))

    async def _accepted(
        self, reply: AgentReply, earlier: Sequence[Sequence[str]]
    ) -> list[AgentEvent]:
        """Return the answer; with the task's earlier texts if it may correct them.

        Args:
            reply: The answer to the last message.
            earlier: The ids of the artifacts that answered each earlier message.
        """
        if not earlier:
            return _in_order([*reply.artifacts, *_beside(reply)])
        try:
            task = await self._agent.get_task(reply.task_id)
        except RemoteAgentError:  # some agents keep no tasks
            return _in_order([*reply.artifacts, *_beside(reply)])
        found = {each.id: each for each in task.artifacts}
        known = [[found.pop(name) for name in names if name in found] for names in earlier]
        texts = [
            "".join(each for each in _pieces(group) if isinstance(each, str)) for group in known
        ]
        old = {name for names in earlier for name in names}
        added = [_without_text(each) for each in reply.artifacts if each.id in old]
        answer = [*found.values(), *added, *_beside(reply)]
        return _in_order(answer, "\n\n".join(filter(None, texts)), of_task=True)

    async def _context_of(self, request: AgentRequest) -> str:
        if self._storage is None:
            return ""
        body = await self._storage.read_state(request.owner, request.context_id, _KIND)
        return str(json.loads(body)) if body else ""

    async def _keep(self, request: AgentRequest, context_id: str) -> None:
        if self._storage is not None and context_id:
            body = json.dumps(context_id).encode()
            await self._storage.write_state(request.owner, request.context_id, _KIND, body)


def _is_held(card: AgentCard) -> bool | None:
    for extension in card.capabilities.extensions:
        if extension.uri == HELD_TEXT_EXTENSION:
            return struct_to_dict(extension.params).get("held") is not False
    return None


def _earlier(request: AgentRequest) -> list[list[str]]:
    """Return the ids of the artifacts with which the remote task answered each earlier message."""
    found = request.resume_metadata.get("artifacts")
    groups = found if isinstance(found, list) else []
    return [[str(name) for name in group] for group in groups if isinstance(group, list)]


def _artifact(parts: Sequence[Part]) -> RemoteArtifact:
    return RemoteArtifact(id="", parts=parts)


def _beside(reply: AgentReply) -> list[RemoteArtifact]:
    """Return the parts of an answer that are in no artifact, such as those of a bare message."""
    if reply.is_question:
        return []
    sent = [part for artifact in reply.artifacts for part in artifact.parts]
    found: list[RemoteArtifact] = []
    for is_text, group in groupby(reply.parts[len(sent) :], lambda part: isinstance(part, Text)):
        parts = [part for part in group if is_text or part not in sent]
        found += [_artifact([part]) for part in parts] if is_text else [_artifact(parts)]
    return found


def _without_text(artifact: RemoteArtifact) -> RemoteArtifact:
    return replace(artifact, parts=[part for part in artifact.parts if not isinstance(part, Text)])


def _pieces(artifacts: Iterable[RemoteArtifact]) -> Iterator[str | Output]:
    """Yield the texts of artifacts, with what separates them from earlier ones, and other parts."""
    said = is_behind = False
    for artifact in artifacts:
        separator = "\n" if said else ""
        for is_text, group in groupby(artifact.parts, lambda part: isinstance(part, Text)):
            parts = [*group]
            if not is_text:
                name, description = artifact.name, artifact.description
                yield Output(parts, name, description, metadata=artifact.metadata)
                is_behind = True
            elif text := "".join(part.text for part in parts if isinstance(part, Text)):
                yield 2 * separator + text if is_behind else separator + text
                said, is_behind, separator = True, False, ""


def _text_of(artifacts: Iterable[RemoteArtifact]) -> str:
    return "".join(piece for piece in _pieces(artifacts) if isinstance(piece, str))


def _in_order(
    artifacts: Iterable[RemoteArtifact], said: str = "", *, of_task: bool = False
) -> list[AgentEvent]:
    """Return artifacts as the text of the answer, with their other parts between.

    Args:
        artifacts: The artifacts.
        said: The text of the task's earlier messages.
        of_task: Whether that may have changed.
    """
    events: list[AgentEvent] = []
    separator = "\n\n" if said else ""
    for piece in _pieces(artifacts):
        if isinstance(piece, Output):
            events += [AnswerText(said, of_task=of_task), piece]
        else:
            said += separator + piece
            separator = ""
    return [*events, AnswerText(said, of_task=of_task)]


def _last_events(reply: AgentReply, earlier: Sequence[Sequence[str]]) -> Iterator[AgentEvent]:
    """Yield an answer's metadata and question."""
    if reply.metadata:
        reply.counted_usage(__name__)  # it becomes the task's own
        yield TaskMetadata(reply.metadata)
    if reply.is_question:
        kind = AuthRequired if reply.state == "auth-required" else InputRequired
        parts = [part for part in reply.status_parts if not isinstance(part, Text)]
        artifacts = [*earlier, [artifact.id for artifact in reply.artifacts]]
        metadata: dict[str, JSON] = {"task_id": reply.task_id, "artifacts": as_json(artifacts)}
        yield kind(reply.question, parts, metadata=metadata, durable=True)
