"""One turn of a conversation: finds its context, sends the messages, and stores the new head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import SendMessageRequest, TaskState
from a2a.utils.errors import A2AError
from google.protobuf.message import Error as ProtobufError

from a2a_adapters import Text
from a2a_adapters.dialects import user_message
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters_openai.dialect_run import DialectRun, find_task
from a2a_adapters_openai.errors import ApiError
from a2a_adapters_openai.heads import Head, Heads
from a2a_adapters_openai.messages import to_parts

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.types import Task
    from starlette.requests import Request

    from a2a_adapters.dialects import DialectAgent, DialectServer
    from a2a_adapters.plugin import JSON
    from a2a_adapters_openai.heads import Chat
    from a2a_adapters_openai.output import NewEvent
    from a2a_adapters_openai.parameters import Parameters

_WAITING = {TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED}


def caller(server: DialectServer, request: Request) -> ServerCallContext:
    """Return the caller of a request, with progress events activated."""
    context = server.caller(request)
    context.requested_extensions = {*context.requested_extensions, PROGRESS_EXTENSION}
    return context


def is_waiting(task: Task) -> bool:
    """Return whether a task waits for its caller."""
    return task.status.state in _WAITING


class Turn:
    """Sends the messages of a request to an agent.

    Args:
        agent: The agent.
        context: The caller.
        chat: The messages.
        parameters: The request.
    """

    def __init__(
        self,
        agent: DialectAgent,
        context: ServerCallContext,
        chat: Chat,
        parameters: Parameters,
    ) -> None:
        self._agent = agent
        self._context = context
        self._chat = chat
        self._parameters = parameters
        self._heads = Heads(agent.storage, context.user.user_name)
        self.before: Task | None = None
        """The task before the message, None for a new task."""

    async def begin(self) -> DialectRun[NewEvent]:
        """Send the messages that the agent has not received yet, according to the history.

        Raises:
            A2AError: The message was refused.
            ApiError: It is empty, or cannot be sent.
        """
        digest = self._chat.before
        head = await self._heads.take(digest) if digest else None
        try:
            return await self.begin_at(head)
        except (A2AError, ApiError):
            if head is not None and digest is not None:  # nothing has begun
                await self._heads.put(digest, head)
            raise

    async def begin_at(self, head: Head | None) -> DialectRun[NewEvent]:
        """Send the message to the context of `head`, or to a new one.

        Raises:
            A2AError: The message was refused.
            ApiError: It is empty, or cannot be sent.
        """
        request = await self.request(head)
        run: DialectRun[NewEvent] = DialectRun(self._agent, self._context, self.before)
        await run.begin(self._agent.follow(request, self._context, run.answer))
        return run

    async def request(self, head: Head | None) -> SendMessageRequest:
        """Return the message, for the context of `head` or a new one.

        Raises:
            ApiError: It is empty, or cannot be sent.
        """
        chat, parameters = self._chat, self._parameters
        messages = [*chat.system, *chat.turns]
        context_id = task_id = ""
        if head is not None:
            context_id = head.context_id
            messages = [
                *(chat.system if head.system != chat.system_digest else ()),
                *chat.new_messages,
            ]
            task = (
                await find_task(self._agent, head.task_id, self._context) if head.task_id else None
            )
            if task is not None and is_waiting(task):
                self.before, task_id = task, task.id
        parts = to_parts(messages)
        if not any(not isinstance(part, Text) or part.text.strip() for part in parts):
            raise ApiError(400, "the last message is empty")
        metadata: dict[str, JSON] = dict(parameters.metadata or {})
        if parameters.user:
            metadata["user"] = parameters.user
        try:
            message = user_message(parts, context_id, task_id, metadata)
        except (ValueError, TypeError, RecursionError, ProtobufError) as error:
            raise ApiError(400, f"the message cannot be sent: {error}") from error
        sent = SendMessageRequest(message=message)
        if parameters.is_json:
            sent.configuration.accepted_output_modes.extend(["application/json", "text/plain"])
        return sent

    async def keep(self, run: DialectRun[NewEvent], text: str, *, is_question: bool) -> None:
        """Store the head of the conversation. Call it before the client has the whole answer.

        Args:
            run: The run.
            text: The answer, as the client will repeat it in its history.
            is_question: Whether the task waits for the next message.
        """
        if run.answer.context_id:
            waiting = run.answer.task_id if is_question else ""
            head = Head(run.answer.context_id, waiting, self._chat.system_digest)
            await self._heads.put(self._chat.after([Text(text)]), head)
