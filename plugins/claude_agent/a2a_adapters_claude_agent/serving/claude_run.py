"""One run of Claude Code, in a process of its own."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from claude_agent_sdk import (
    TERMINAL_TASK_STATUSES,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    Message,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    ToolPermissionContext,
)

from a2a_adapters import BlockedError
from a2a_adapters.concurrency import PerLoop, produced, reaping, shielded
from a2a_adapters.conversing import refused_call
from a2a_adapters.dialects import quote
from a2a_adapters.plugin import AgentFailedError
from a2a_adapters_claude_agent.serving import options as options_of
from a2a_adapters_claude_agent.serving.permissions import Permissions, similar
from a2a_adapters_claude_agent.serving.questions import ASKING_TOOL, Paused

if TYPE_CHECKING:
    from a2a_adapters_claude_agent.serving.session import Session, Transcripts

logger = logging.getLogger(__name__)

_INTERRUPT_SECONDS = 2.0
_LOG_LINES = 20
_INSISTS = "The agent insists on tools that it may not use."


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A tool about which the caller is asked.

    Attributes:
        tool: The tool.
        given: Its arguments.
        always: The rules that allow similar calls.
        result: The answer.
    """

    tool: str
    given: dict[str, Any]
    always: list[PermissionUpdate]
    result: asyncio.Future[PermissionResult] = field(default_factory=asyncio.Future)

    def paused(self, task_id: str, session: Transcripts, folder: str) -> Paused:
        """Return the run that waits for the caller."""
        return Paused(task_id, session, self.tool, self.given, folder, bool(self.always))

    def answer(self, paused: Paused) -> None:
        """Pass the caller's answer on, unless the run has continued without it."""
        if self.result.done():
            return
        if self.tool == ASKING_TOOL:
            given = {**self.given, "answers": dict(paused.answers)}
            self.result.set_result(PermissionResultAllow(updated_input=given))
        elif paused.is_allowed:
            rules = self.always if paused.is_always else None
            self.result.set_result(PermissionResultAllow(updated_permissions=rules))
        else:
            self.result.set_result(PermissionResultDeny(message=refused_call(paused.reason)))


class Places:
    """Bounds the processes. A run that waits for its caller gives its place to another.

    Args:
        most: The maximum number of processes.
    """

    def __init__(self, most: int) -> None:
        self._permits = PerLoop(partial(asyncio.Semaphore, most))
        self._queued = 0
        self._waiting: dict[ClaudeRun, None] = {}

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[None]:
        """Hold a place, once there is one."""
        self._queued += 1
        try:
            self._make_room()
            await self._permits().acquire()
        finally:
            self._queued -= 1
        try:
            yield
        finally:
            self._permits().release()

    @contextmanager
    def lent(self, run: ClaudeRun) -> Iterator[None]:
        """Let another run take the place of one that waits for its caller."""
        self._waiting[run] = None
        self._make_room()
        try:
            yield
        finally:
            self._waiting.pop(run, None)

    def _make_room(self) -> None:
        if self._queued and self._permits().locked() and self._waiting:
            first = next(iter(self._waiting))
            del self._waiting[first]
            first.retire()


class ClaudeRun:
    """One run of Claude Code.

    Args:
        options: The options of the agent.
        session: The session of the conversation.
        prompt: The message as content blocks.
        places: Bounds the processes.
        granted: A call that the caller has allowed already, as `called` returns it.
        asks: Whether the caller is asked about tools.
        expands: Whether commands and mentions of files in the message are carried out.
    """

    def __init__(
        self,
        options: ClaudeAgentOptions,
        session: Session,
        prompt: list[dict[str, Any]],
        places: Places,
        *,
        granted: str,
        asks: bool,
        expands: bool,
    ) -> None:
        self.session = session
        self._prompt = prompt
        self._places = places
        self._log: deque[str] = deque(maxlen=_LOG_LINES)
        self._blocked: BlockedError | None = None
        self._has_result = False
        self._permissions = Permissions(
            options.can_use_tool,
            options_of.folders(options),
            granted,
            self._ask if asks else None,
        )
        self._options = options_of.of_run(
            replace(options, stderr=options.stderr or self._log.append),
            session,
            self._can_use,
            self._block,
            expands=expands,
        )

    async def news(self) -> AsyncGenerator[Message | Asked]:
        """Yield the messages and the tools asked about.

        Raises:
            AgentFailedError: The agent insists on forbidden tools.
            BlockedError: A hook blocked the run.
        """
        async for each in produced(self._produce):
            if self._blocked:
                raise self._blocked
            if self._permissions.is_exhausted:
                raise AgentFailedError("limit", _INSISTS)
            if not (isinstance(each, Asked) and each.result.done()):
                yield each

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended, or ends, without a result."""
        return not self._has_result and (self._task.done() or bool(self._task.cancelling()))

    def retire(self) -> None:
        """End the process of a run that waits."""
        if not self._has_result:
            self._task.cancel()

    async def _produce(self, put: Callable[[Message | Asked], Awaitable[None]]) -> None:
        self._put, self._task = put, cast("asyncio.Task[None]", asyncio.current_task())
        async with self._places.taken(), reaping() as mark:  # it may leave commands behind
            options = replace(self._options, env={**self._options.env, **mark})
            client = ClaudeSDKClient(options)
            try:
                await client.connect()
                prompt_id = str(uuid4())
                await client.query(_message(self._prompt, prompt_id))
                async for message in _answer(client, prompt_id):
                    await put(message)
                    self._has_result = isinstance(message, ResultMessage)
            except asyncio.CancelledError:
                with suppress(Exception):
                    async with asyncio.timeout(_INTERRUPT_SECONDS):
                        await client.interrupt()
                raise
            except Exception:
                logger.exception("Claude Code failed: %s", quote("; ".join(self._log)))
                raise
            finally:
                await shielded(client.disconnect())

    async def _can_use(
        self, tool: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        try:
            return await self._permissions.can_use(tool, given, context)
        except BlockedError as error:
            self._block(error)
            return PermissionResultDeny(interrupt=True)

    async def _ask(
        self, tool: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        call_id = context.tool_use_id or ""
        await self.session.has(call_id)  # so that another process can go on from here
        asked = Asked(tool, given, similar(context.suggestions, given))
        await self._put(asked)
        return await asked.result

    def _block(self, error: BlockedError) -> None:
        self._blocked = self._blocked or error


async def _message(content: list[dict[str, Any]], prompt_id: str) -> AsyncIterator[dict[str, Any]]:
    message = {"role": "user", "content": content}
    yield {"type": "user", "uuid": prompt_id, "message": message, "parent_tool_use_id": None}


async def _answer(client: ClaudeSDKClient, prompt_id: str) -> AsyncIterator[Message]:
    """Yield the messages up to the result of a prompt, and stop the subagents still at work.

    The process would wait for subagents. If the last process ended while one worked, a turn about
    that comes first.
    """
    running: set[str] = set()
    async for message in client.receive_messages():
        match message:
            case TaskStartedMessage():
                running.add(message.task_id)
            case TaskNotificationMessage() | TaskUpdatedMessage():
                if message.status in TERMINAL_TASK_STATUSES:
                    running.discard(message.task_id)
            case ResultMessage() if message.origin:
                if prompt_id not in (message.user_message_uuids or ()):
                    continue
        yield message
        if isinstance(message, ResultMessage):
            break
    with suppress(Exception):
        async with asyncio.timeout(_INTERRUPT_SECONDS):
            for task_id in running:
                await client.stop_task(task_id)
