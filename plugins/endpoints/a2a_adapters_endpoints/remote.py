"""Serves a remote A2A agent with this server's authentication, storage, limits and dialects."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from a2a_adapters import (
    AgentEvent,
    AgentReply,
    AgentRequest,
    AuthRequired,
    BearerAuth,
    InputRequired,
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
from a2a_adapters.dialects import LaterText, answer_of, artifact_text, passed_on, struct_to_dict
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
    from collections.abc import AsyncGenerator, Iterator, Sequence

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
                    elif isinstance(event, Question | LaterText):
                        continue  # it is part of the reply, in its place
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
        answer = answer_of(reply)
        if not earlier:
            return passed_on(answer)
        try:
            task = await self._agent.get_task(reply.task_id)
        except RemoteAgentError:  # some agents keep no tasks
            return passed_on(answer)
        found = {each.id: each for each in task.artifacts}
        known = [[found.pop(name) for name in names if name in found] for names in earlier]
        old = {name for names in earlier for name in names}
        more = [_without_text(each) if each.id in old else each for each in answer]
        rest = [each for each in more if each.id in old or not (each.id and found)]
        return passed_on([*found.values(), *rest], known)

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


def _without_text(artifact: RemoteArtifact) -> RemoteArtifact:
    return replace(artifact, parts=[part for part in artifact.parts if not isinstance(part, Text)])


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
