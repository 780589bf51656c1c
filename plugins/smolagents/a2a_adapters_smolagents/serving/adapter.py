"""An agent of smolagents as an adapter."""

from __future__ import annotations

import inspect
import io
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import PIL.Image
from smolagents import AgentError, AgentGenerationError, CodeAgent, MultiStepAgent

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    File,
    InputRequired,
    InvalidInputError,
    Limits,
    Rejected,
    TargetError,
)
from a2a_adapters.conversing import StoredTurns, json_turns
from a2a_adapters.plugin import (
    Adapter,
    AgentDescription,
    Factory,
    as_text,
    model_failure,
    run_in_thread,
)
from a2a_adapters_smolagents.serving.copies import check, copied, describe, team
from a2a_adapters_smolagents.serving.events import RunEvents
from a2a_adapters_smolagents.serving.memory import decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Generator

    from a2a_adapters import OutboundPolicy
    from a2a_adapters.plugin import StateStorage

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]
_Run: TypeAlias = "Generator[Any, None, None]"

_END: Any = object()


class SmolagentsAdapter(Adapter):
    """Serves a `CodeAgent`, a `ToolCallingAgent` or another agent of smolagents.

    Each run has a copy of the agent and of those that it manages, with the memory of the caller's
    conversation. A failed or cancelled run leaves the conversation unchanged. Runs are blocking, so
    each is in a thread. Tools find the request with `current_request()`.

    Args:
        agent: The agent, or a `Factory` that makes one for every run. The card describes it.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target is not an agent, or its tools or its executor cannot be served.
    """

    blocks = True

    def __init__(
        self,
        agent: MultiStepAgent | Factory,
        *,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        example = agent.example if isinstance(agent, Factory) else agent
        if not isinstance(example, MultiStepAgent):
            raise TargetError(f"{type(example).__name__} is not an agent of smolagents")
        check(example)
        self.fetch = fetch
        self._example = example
        self._make: Any = agent if isinstance(agent, Factory) else lambda: agent
        self._turns = StoredTurns(json_turns("smolagents", lambda _, __: None), limits)

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its description and its tools."""
        return describe(self._example)

    async def open(self, storage: StateStorage) -> None:
        """Keep conversations in the server's storage."""
        self._turns.open(storage)

    def stream(self, request: AgentRequest) -> _Events:
        """Run the agent.

        Raises:
            InvalidInputError: The message is empty, or has a file that is no image.
        """
        texts = [part for part in request.parts if not isinstance(part, File)]
        task, images = as_text(texts), [_image(file) for file in request.files]
        if not task.strip() and not images:
            raise InvalidInputError("the message is empty")
        return self._answer(request, task, images)

    async def _answer(self, request: AgentRequest, task: str, images: list[Any]) -> _Events:
        turn = await self._turns.begin(request)
        if isinstance(turn, Rejected | InputRequired):
            yield turn
            return
        made = self._make()
        agent = copied(await made if inspect.isawaitable(made) else made)
        agent.memory.steps = decoded(turn.before.state or ())
        events = RunEvents(agent, wants_progress=request.wants_progress)
        run = _Steps(agent, request, task, images)
        try:
            while (item := await run_in_thread(run.next, request.task_id)) is not _END:
                for event in events.take(item):
                    yield event
        except Exception as error:
            if failed := model_failure(error):
                raise failed from error
            raise
        finally:
            run.interrupt()
            if not run.is_busy:
                await run_in_thread(run.close, request.task_id)
        await turn.complete(encoded(agent.memory.steps))


class _Steps:
    """The items of a run, each of which a call in a thread waits for."""

    def __init__(
        self, agent: MultiStepAgent, request: AgentRequest, task: str, images: list[Any]
    ) -> None:
        self._agent = agent
        self._request = request
        self._start = partial(agent.run, task, stream=True, reset=False, images=images or None)
        self._run: _Run | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a thread waits for the next item; it closes a cancelled run."""
        return self._run is not None and inspect.getgeneratorstate(self._run) == inspect.GEN_RUNNING

    def interrupt(self) -> None:
        """Let no agent begin another step."""
        for each in team(self._agent):
            each.interrupt()

    def next(self) -> Any:
        """Return the next item, or `_END`."""
        if self._request.cancelled:
            return _END
        try:
            self._run = self._run or self._start()
            return next(self._run, _END)
        finally:
            if self._request.cancelled:
                self.close()

    def close(self) -> None:
        """End the run, and clean up after a remote executor."""
        if self._run is None:
            return
        ended = AgentGenerationError("The run was cancelled.", self._agent.logger)
        with suppress(AgentError, StopIteration):
            while True:  # the framework's generator yields once more when it is closed
                self._run.throw(ended)
        for each in team(self._agent):
            if isinstance(each, CodeAgent):
                each.cleanup()


def _image(file: File) -> Any:
    if not file.guess_media_type().startswith("image/"):
        raise InvalidInputError("this agent takes no files but images")
    try:
        return PIL.Image.open(io.BytesIO(file.received()))
    except PIL.UnidentifiedImageError as error:
        raise InvalidInputError("an image cannot be read") from error


adapt = SmolagentsAdapter
"""Wraps an agent, with options."""
