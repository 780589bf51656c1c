"""An agent of ADK as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from google.adk.agents._streaming_mode import StreamingMode
from google.adk.agents.run_config import RunConfig, ToolThreadPoolConfig
from google.adk.runners import Runner
from google.genai.types import Content

from a2a_adapters import AgentEvent, AgentRequest, Limits, Output, Rejected
from a2a_adapters.conversing import ConversingAdapter, Events
from a2a_adapters.plugin import AgentDescription, Factory, check_arguments, example_of, per_request
from a2a_adapters_google_adk.serving.events import RunEvents, as_file
from a2a_adapters_google_adk.serving.failures import (
    check_blocked,
    failure,
    refused,
    rejection,
)
from a2a_adapters_google_adk.serving.guards import is_guarded
from a2a_adapters_google_adk.serving.input import as_message
from a2a_adapters_google_adk.serving.questions import (
    CREDENTIAL,
    KIND,
    AnyTurn,
    LongCalls,
    Paused,
    question,
    refusals,
    responses,
    tool_names,
)
from a2a_adapters_google_adk.serving.sessions import RunSession
from a2a_adapters_google_adk.serving.targets import (
    APP_NAME,
    Target,
    describe,
    root_of,
    runner_of,
    speakers,
)

if TYPE_CHECKING:
    from google.adk.events.event import Event

    from a2a_adapters import OutboundPolicy

REQUEST_KEY = "temp:a2a"
"""The key of the `AgentRequest` in the session's state; the framework stores no `temp:` keys."""
_NEEDS_LOGIN = "The agent needs to log in to a service, which it cannot ask for here."


class GoogleAdkAdapter(ConversingAdapter[str, Paused, Content]):
    """Serves an agent, a `Workflow`, an `App` or a `Runner` of ADK.

    One agent answers all callers in parallel, each with a session of its own: the user is the
    owner, and the session is the conversation. A failed or cancelled run leaves its conversation
    unchanged. The app and the services of a `Runner` are
    used, so that its session service keeps the sessions.
    Tools find the `AgentRequest` in `tool_context.state["temp:a2a"]`. If callbacks of an agent or a
    plugin may change what a model has said, its text is held back until they have run. A callback
    that raises `BlockedError` rejects the task.

    Args:
        target: The object, or a `Factory` that makes one for every run. The card describes it.
        target_for: Chooses the object that answers a request, by default `target`; may be async.
        run_config: The framework's settings of a run. By default a run may call models 50 times
            and has 4 threads for its tools. Tokens are streamed, unless `streaming_mode` is set or
            callbacks may change them.
        limits: Bounds the in-memory conversations of a server without durable storage.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target cannot be served.
    """

    def __init__(
        self,
        target: Target | Factory,
        *,
        target_for: Callable[[AgentRequest], Target | Awaitable[Target]] | None = None,
        run_config: RunConfig | None = None,
        limits: Limits | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        example = cast("Target", example_of(target))
        self._root = root_of(example)
        check_arguments(GoogleAdkAdapter, locals())
        super().__init__(KIND, limits=limits, fetch=fetch)
        self._target_for: Callable[[AgentRequest], Awaitable[Target]] = per_request(
            target, target_for
        )
        # Without threads, a sync tool would stop the server while it runs.
        config = run_config or RunConfig(
            max_llm_calls=50, tool_thread_pool_config=ToolThreadPoolConfig()
        )
        self._config = config
        self._chooses_mode = "streaming_mode" not in config.model_fields_set
        may_stream = self._chooses_mode or config.streaming_mode is StreamingMode.SSE
        self.holds_text = may_stream and is_guarded(example)

    def describe(self) -> AgentDescription:
        """Describe the agent by its name, its description, its tools and its sub-agents."""
        return describe(self._root)

    def prompt(self, request: AgentRequest) -> Content:
        """Return the message as a user's message.

        Raises:
            InvalidInputError: It refers to a file by URL.
        """
        return as_message(request)

    async def run(self, request: AgentRequest, turn: AnyTurn, prompt: Content | None) -> Events:
        """Run the agent; keep its session, or ask about the calls that wait."""
        target = await self._target_for(request)
        run = _Run(target, self._config_of(target), request, turn, is_held=self.holds_text)
        try:
            async with aclosing(run.events(prompt)) as events:
                async for event in events:
                    yield event
        except Exception as error:
            rejected = rejection(error)
            for each in rejected:
                yield each
            if rejected:
                return
            if failed := failure(error):
                raise failed from error
            raise
        for event in run.usage():
            yield event
        for event in await run.ending():
            yield event

    def _config_of(self, target: Target) -> RunConfig:
        """Return the settings of a run."""
        if not self._chooses_mode:
            return self._config
        # In streams, callbacks would be called for each chunk, too, also those of agents that a
        # function runs: where only the result is the answer, nothing is streamed.
        is_streamed = speakers(root_of(target)) and not is_guarded(target)
        mode = StreamingMode.SSE if is_streamed else StreamingMode.NONE
        return self._config.model_copy(update={"streaming_mode": mode})


class _Run:
    """The run of one message.

    Args:
        target: The object that answers.
        config: The framework's settings.
        request: The message.
        turn: The turn of the conversation.
        is_held: Whether the server holds text back until it is accepted.
    """

    def __init__(
        self,
        target: Target,
        config: RunConfig,
        request: AgentRequest,
        turn: AnyTurn,
        *,
        is_held: bool,
    ) -> None:
        self._paused = paused = turn.before.paused
        self._session_id = request.conversation_key()
        # Users share the state `user:`, which anonymous callers must not.
        self._user_id = request.owner or self._session_id
        self._session = RunSession(
            (paused.session if paused else turn.before.state) or "",
            app_name=APP_NAME,
            user_id=self._user_id,
            session_id=self._session_id,
        )
        self._long = LongCalls()
        plugins = [*(refusals(paused) if paused else []), self._long]
        self._runner = runner_of(target, self._session, plugins)
        self._has_sessions = isinstance(target, Runner)
        self._config = config
        self._request = request
        self._turn = turn
        self._converted = RunEvents(
            root_of(target),
            wants_progress=request.wants_progress,
            names=tool_names(paused) if paused else {},
            runner=self._runner,
            is_held=is_held,
            long_calls=self._long,
        )

    async def events(self, message: Content | None) -> AsyncGenerator[AgentEvent]:
        """Run the agent; yield its answer."""
        messages = [message] if message is not None else responses(cast("Paused", self._paused))
        for each in messages:
            run = self._runner.run_async(
                user_id=self._user_id,
                session_id=self._session_id,
                new_message=each,
                state_delta={REQUEST_KEY: self._request},
                run_config=self._config,
            )
            async with aclosing(run) as events:
                async for event in events:
                    for converted in self._converted.take(event):
                        yield converted
                    for artifact in await self._artifacts(event):
                        yield artifact

    def usage(self) -> Iterator[AgentEvent]:
        """Yield the tokens of the run."""
        yield from self._converted.usage()

    async def ending(self) -> list[AgentEvent]:
        """Keep the conversation, or the run with its question; return the last events."""
        converted = self._converted
        check_blocked(converted.error_code)
        events = list(converted.end())
        if converted.error_code:
            return events + refused(converted.error_code)
        session = ""
        if not self._has_sessions:
            session = self._session.as_json(is_paused=bool(converted.calls))
        if not converted.calls:
            await self._turn.complete(session)
            return events
        if any(call["name"] == CREDENTIAL for call in converted.calls):
            return [*events, Rejected(_NEEDS_LOGIN)]
        calls = [self._long.as_called(each) for each in converted.calls]
        paused = Paused(self._request.task_id, session, calls)
        await self._turn.pause(paused)
        return [*events, question(paused)]

    async def _artifacts(self, event: Event) -> list[AgentEvent]:
        """Load the files that an event saves."""
        service = self._runner.artifact_service
        if service is None:
            return []
        loaded: list[AgentEvent] = []
        for filename, version in event.actions.artifact_delta.items():
            part = await service.load_artifact(
                app_name=self._runner.app_name,
                user_id=self._user_id,
                session_id=self._session_id,
                filename=filename,
                version=version,
            )
            if part is not None and (blob := part.inline_data):
                loaded.append(Output([as_file(blob.data, blob.mime_type, filename)]))
        return loaded


adapt = GoogleAdkAdapter
"""Wraps an agent, a workflow, an app or a runner, with options."""
