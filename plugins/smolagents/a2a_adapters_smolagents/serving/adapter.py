"""An agent of smolagents as an adapter."""

from __future__ import annotations

import inspect
import io
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import PIL.Image
from smolagents import AgentError, AgentGenerationError, CodeAgent, MultiStepAgent

from a2a_adapters import AgentRequest, BlockedError, File, InvalidInputError, Limits, TargetError
from a2a_adapters.conversing import AskingRun, ConversingAdapter, Events, StoredTurn, json_turns
from a2a_adapters.plugin import (
    AgentDescription,
    Factory,
    as_text,
    check_arguments,
    example_of,
    model_failure,
    per_request,
    run_in_thread,
)
from a2a_adapters_smolagents.serving.copies import check, copied, describe, team
from a2a_adapters_smolagents.serving.events import RunEvents
from a2a_adapters_smolagents.serving.memory import decoded, encoded

if TYPE_CHECKING:
    from collections.abc import Generator

    from a2a_adapters import OutboundPolicy

_Run: TypeAlias = "Generator[Any, None, None]"

_Prompt: TypeAlias = tuple[str, list[Any]]

_END: Any = object()


class SmolagentsAdapter(ConversingAdapter[Any, AskingRun, _Prompt]):
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
        example = example_of(agent)
        if not isinstance(example, MultiStepAgent):
            raise TargetError(f"{type(example).__name__} is not an agent of smolagents")
        check_arguments(SmolagentsAdapter, locals())
        super().__init__(json_turns("smolagents"), limits=limits, fetch=fetch)
        check(example)
        self._example = example
        self._make = per_request(agent)

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its description and its tools."""
        return describe(self._example)

    def prompt(self, request: AgentRequest) -> _Prompt:
        """Return the message as a task and its images.

        Raises:
            InvalidInputError: It has a file that is not an image.
        """
        texts = [part for part in request.parts if not isinstance(part, File)]
        return as_text(texts), [_image(file) for file in request.files]

    async def run(
        self, request: AgentRequest, turn: StoredTurn[Any, AskingRun], prompt: _Prompt | None
    ) -> Events:
        """Run the agent, and keep its steps."""
        agent = copied(await self._make(request))
        agent.memory.steps = decoded(turn.before.state or ())
        events = RunEvents(agent, wants_progress=request.wants_progress)
        assert prompt is not None  # noqa: S101 - the agent never asks
        run = _Steps(agent, request, *prompt)
        try:
            while (item := await run_in_thread(run.next, request.task_id)) is not _END:
                for event in events.take(item):
                    yield event
        except Exception as error:
            if isinstance(error, BlockedError):
                raise
            if isinstance(error.__cause__, BlockedError):  # of a model that does not plan
                raise error.__cause__ from error
            if failed := model_failure(error):
                raise failed from error
            raise
        finally:
            run.interrupt()
            if not run.is_busy:
                await run_in_thread(run.close, request.task_id)
        await turn.complete(encoded(agent.memory.steps))


class _Steps:
    """The items of a run; a call in a thread waits for each of them."""

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
