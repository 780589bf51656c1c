"""Responses: `POST /v1/responses` and conversations."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from a2a.types import ListTasksRequest, Role, Task
from a2a.utils.errors import A2AError
from starlette.responses import JSONResponse

from a2a_adapters.dialects import Answer, new_id
from a2a_adapters_openai.dialect_run import find_task
from a2a_adapters_openai.errors import ApiError
from a2a_adapters_openai.heads import Chat, Head
from a2a_adapters_openai.items import Frame, ResponseShape
from a2a_adapters_openai.messages import read_message
from a2a_adapters_openai.parameters import ResponseParameters, read_parameters
from a2a_adapters_openai.stored import (
    background_status,
    context_of,
    parse_id,
    response_id,
    text_of_item,
)
from a2a_adapters_openai.stream import EventStream, OnLeave, whole_response
from a2a_adapters_openai.turns import Turn, caller, is_waiting

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters import AgentReply
    from a2a_adapters.dialects import DialectAgent, DialectServer
    from a2a_adapters_openai.messages import ChatMessage
    from a2a_adapters_openai.models import Models

_CONVERSATION = re.compile(r"conv_[0-9a-f]{32}")
_UNKNOWN = "there is no such conversation; create one with POST /v1/conversations"
_CREATED = 10_000
_SKIPPED = {"reasoning", "function_call"}


class ResponsesEndpoint:
    """Creates responses.

    Args:
        server: Provides the agents and identifies callers.
        models: The agents as models.
    """

    def __init__(self, server: DialectServer, models: Models) -> None:
        self._server = server
        self._models = models
        self._created: dict[tuple[str, str], int] = {}
        """When the latest conversations were created, by owner and id."""

    async def create(self, request: Request) -> Response:
        """Answer `POST /v1/responses`.

        Raises:
            ApiError: The request was refused, or the agent failed.
            A2AError: Likewise.
        """
        parameters = await read_parameters(request, ResponseParameters)
        agent = self._models.find(parameters.model)
        headers = parameters.headers()
        context = caller(self._server, request)
        messages = await _messages(parameters, agent, context)
        chat = Chat(messages, parameters.chat_keys(request))
        if not chat.new_messages:
            raise ApiError(400, "the last item of the input must be the user's", param="input")
        turn = Turn(agent, context, chat, parameters)
        conversation = _conversation_id(parameters)
        head = None
        if parameters.previous_response_id is not None:
            head = await _after(parameters.previous_response_id, agent, context)
        elif conversation is not None:
            head = await _latest(conversation, agent, context)
        frame = Frame(
            id="",
            model=parameters.model,
            background=bool(parameters.background),
            previous=parameters.previous_response_id,
            conversation=conversation,
            metadata=parameters.metadata or {},
        )
        if frame.background and not parameters.stream:
            return await _begin_in_background(frame, agent, turn, head, context, headers)
        run = await turn.begin() if head is None else await turn.begin_at(head)
        frame.id = response_id(run.answer, turn.before)

        async def keep(text: str, reply: AgentReply) -> None:
            if head is None:
                await turn.keep(run, text, is_question=reply.is_question)

        shape = ResponseShape(frame, run, is_json=parameters.is_json, keep=keep)
        if parameters.stream:
            on_leave = OnLeave.READ_ON if frame.background else OnLeave.CANCEL
            return EventStream(run, shape, headers, on_leave)
        return await whole_response(run, shape, request, headers)

    async def create_conversation(self, request: Request) -> Response:
        """Answer `POST /v1/conversations`."""
        conversation = f"conv_{new_id()}"
        if len(self._created) >= _CREATED:
            del self._created[next(iter(self._created))]
        created = self._created[self._owner(request), conversation] = int(time.time())
        return JSONResponse(_conversation(conversation, created))

    async def show_conversation(self, request: Request) -> Response:
        """Answer `GET /v1/conversations/{id}`.

        Raises:
            ApiError: The caller has sent no message in it, and has not created it here lately.
        """
        conversation = _checked(request.path_params["id"])
        created = self._created.get((self._owner(request), conversation))
        if created is None:
            context = caller(self._server, request)
            agents = self._server.agents.values()
            newest = [await _newest(agent, conversation, context) for agent in agents]
            times = [task.status.timestamp.seconds for task in newest if task is not None]
            if not times:
                raise ApiError(404, _UNKNOWN, param="conversation", code="conversation_not_found")
            created = max(times)
        return JSONResponse(_conversation(conversation, created))

    def _owner(self, request: Request) -> str:
        return self._server.caller(request).user.user_name


async def _begin_in_background(
    frame: Frame,
    agent: DialectAgent,
    turn: Turn,
    head: Head | None,
    context: ServerCallContext,
    headers: dict[str, str],
) -> Response:
    sent = await turn.request(head)
    sent.configuration.return_immediately = True
    task = await agent.handler.on_message_send(sent, context)
    if not isinstance(task, Task):
        text = "this agent answers without a task, so it cannot work in the background"
        raise ApiError(400, text, param="background")
    answer = Answer()
    answer.fold_task(task)
    frame.id = response_id(answer, turn.before)
    return JSONResponse(frame.response(background_status(task)), headers=headers)


async def _messages(
    parameters: ResponseParameters, agent: DialectAgent, context: ServerCallContext
) -> list[ChatMessage]:
    """Return the messages of the input; items that it refers to are read from their tasks."""
    messages = []
    if parameters.instructions:
        messages.append(read_message("system", parameters.instructions, "instructions"))
    messages += parameters.schema_messages()
    items = parameters.input
    if isinstance(items, str):
        return [*messages, read_message("user", items, "input")]
    for number, item in enumerate(items):
        where = f"input[{number}]"
        match item:
            case {"type": "item_reference", "id": str(item_id)}:
                if not item_id.startswith("rs_"):
                    text = await text_of_item(agent, item_id, context)
                    messages.append(read_message("assistant", text, where))
            case {"type": "function_call_output", "output": output}:
                messages.append(read_message("tool", output, where))
            case {"type": str(kind)} if kind in _SKIPPED:
                pass
            case {"role": role, "content": content}:
                messages.append(read_message(role, content, where))
            case _:
                text = f"{where}: unsupported item; send messages"
                raise ApiError(400, text, param=where)
    return messages


def _conversation_id(parameters: ResponseParameters) -> str | None:
    given = parameters.conversation
    if given is None:
        return None
    return _checked(given.get("id") if isinstance(given, dict) else given)


def _checked(conversation: object) -> str:
    """Return the id of a conversation if this server issued it.

    Issued ids cannot be guessed. If anonymous callers chose ids, they might share a conversation
    by accident.
    """
    if isinstance(conversation, str) and _CONVERSATION.fullmatch(conversation):
        return conversation
    raise ApiError(404, _UNKNOWN, param="conversation", code="conversation_not_found")


def _conversation(conversation: str, created: int) -> dict[str, object]:
    return {"id": conversation, "object": "conversation", "created_at": created, "metadata": {}}


async def _after(previous: str, agent: DialectAgent, context: ServerCallContext) -> Head:
    """Return the head of a conversation after a response.

    Raises:
        ApiError: The caller has no such response of this agent, or it is not the latest one.
    """
    if context_id := context_of(previous):
        return Head(context_id, "", "")
    task_id, number = parse_id(previous)
    task = await find_task(agent, task_id, context) if task_id else None
    if task is None:
        text = f"there is no response {previous[:100]!r} of this model"
        raise ApiError(404, text, param="previous_response_id", code="previous_response_not_found")
    asked = sum(message.role == Role.ROLE_USER for message in task.history)
    newest = await _newest(agent, task.context_id, context)
    if number < asked or (newest is not None and newest.id != task.id):
        text = "this is not the latest response; send the whole input to start a branch"
        raise ApiError(400, text, param="previous_response_id", code="not_the_latest_response")
    return Head(task.context_id, task.id if is_waiting(task) else "", "")


async def _latest(conversation: str, agent: DialectAgent, context: ServerCallContext) -> Head:
    task = await _newest(agent, conversation, context)
    return Head(conversation, task.id if task is not None and is_waiting(task) else "", "")


async def _newest(agent: DialectAgent, context_id: str, context: ServerCallContext) -> Task | None:
    """Return the most recently changed task of a context."""
    params = ListTasksRequest(context_id=context_id, page_size=1)
    try:
        listed = await agent.handler.on_list_tasks(params, context)
    except A2AError:  # a storage that cannot list
        return None
    return listed.tasks[0] if listed.tasks else None
