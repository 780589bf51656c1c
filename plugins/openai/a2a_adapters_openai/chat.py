"""Chat Completions: `POST /v1/chat/completions`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from a2a.utils.errors import A2AError
from starlette.responses import JSONResponse

from a2a_adapters import Text, TextDelta
from a2a_adapters.dialects import new_id, one_line
from a2a_adapters_openai.content import read_message, to_parts
from a2a_adapters_openai.errors import ApiError, failure
from a2a_adapters_openai.heads import Chat, Head, Heads
from a2a_adapters_openai.housekeeping import housekeeping
from a2a_adapters_openai.output import json_of, progress_text, rest_of
from a2a_adapters_openai.parameters import ChatParameters, read_parameters
from a2a_adapters_openai.run import Run
from a2a_adapters_openai.sending import caller, find_task, is_waiting, make_request, schema_message
from a2a_adapters_openai.stream import EventStream, data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters import AgentReply, ProgressEvent
    from a2a_adapters.dialects import DialectServer
    from a2a_adapters_openai.models import Models

_DONE = b"data: [DONE]\n\n"


class ChatEndpoint:
    """Answers chats.

    Args:
        server: What is served.
        models: The agents as models.
    """

    def __init__(self, server: DialectServer, models: Models) -> None:
        self._server = server
        self._models = models

    async def answer(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            ApiError: The request was refused, or the agent failed.
            A2AError: The same, as A2A has it.
        """
        parameters = await read_parameters(request, ChatParameters)
        agent = self._models.find(parameters.model)
        headers = parameters.headers()
        if not parameters.stream and (text := housekeeping(parameters.messages)):
            return JSONResponse(_Completion(parameters.model, "").whole(text), headers=headers)
        messages = (
            read_message(each.get("role"), each.get("content"), f"messages[{n}]")
            for n, each in enumerate(parameters.messages)
        )
        said = [*messages, *schema_message(parameters.response_format)]
        chat = Chat(said, parameters.chat_keys(request))
        if not chat.news:
            text = "the last message must be the user's: an agent cannot continue its own answer"
            raise ApiError(400, text, param="messages")
        context = caller(self._server, request)
        heads = Heads(agent.storage, context.user.user_name)
        head = await heads.take(chat.before) if chat.before else None
        try:
            run = await self._begin(parameters, chat, head, context)
        except (A2AError, ApiError):
            if head is not None and chat.before is not None:  # nothing has begun
                await heads.put(chat.before, head)
            raise
        shape = ChatShape(parameters, run, chat, heads)
        if parameters.stream:
            return EventStream(run, shape, headers)
        progress = await run.finished(request.receive)
        return JSONResponse(await shape.whole(progress), headers=headers)

    async def _begin(
        self, parameters: ChatParameters, chat: Chat, head: Head | None, context: Any
    ) -> Run:
        agent = self._models.find(parameters.model)
        context_id, task = "", None
        said = [*chat.system, *chat.turns]
        if head is not None:
            context_id = head.context_id
            said = list(chat.news)
            if head.system != chat.system_digest:
                said = [*chat.system, *said]
            task = await find_task(agent, head.task_id, context) if head.task_id else None
            if task is not None and not is_waiting(task):
                task = None
        task_id = "" if task is None else task.id
        sent = make_request(
            to_parts(said), parameters, parameters.response_format, context_id, task_id
        )
        run = Run(agent, context, task)
        await run.begin(agent.follow(sent, context, run.answer))
        return run


class ChatShape:
    """Makes chunks, or a whole completion, of a run.

    Args:
        parameters: What was asked.
        run: The run.
        chat: The messages.
        heads: Where the chat's new head is stored.
    """

    def __init__(self, parameters: ChatParameters, run: Run, chat: Chat, heads: Heads) -> None:
        self._completion = _Completion(parameters.model, run.answer.task_id)
        self._is_json = bool(parameters.response_format and parameters.response_format.is_json)
        options = parameters.stream_options
        self._shows_usage = options is not None and bool(options.include_usage)
        self._run = run
        self._chat = chat
        self._heads = heads
        self._said: list[str] = []
        self._before, self._after = self._completion.around("content")

    def begin(self) -> bytes:
        """Return the first chunk, which has the role alone."""
        return data(self._completion.chunk({"role": "assistant", "content": ""}))

    def add(self, news: Sequence[TextDelta | ProgressEvent]) -> bytes:
        """Return a chunk for each piece of text, and for the news of the work."""
        chunks = []
        for each in news:
            if isinstance(each, TextDelta):
                if not self._is_json:
                    chunks.append(self._content(each.text))
            elif text := progress_text(each):
                chunks.append(data(self._completion.chunk({"reasoning_content": text})))
        return b"".join(chunks)

    def _content(self, text: str) -> bytes:
        self._said.append(text)
        return self._before + one_line(text) + self._after

    async def end(self) -> bytes:
        """Return the last chunks of an answer."""
        news, reply = self._run.answer.finish()
        if error := failure(reply):
            raise error
        if self._is_json and not reply.is_question:
            chunks = self._content(json_of(reply))
        else:
            texts = [each.text for each in news if isinstance(each, TextDelta)]
            if self._is_json:
                texts = [reply.text]
            chunks = b"".join(map(self._content, filter(None, texts)))
            if rest := rest_of(reply, has_text=any(self._said)):
                chunks += self._content(rest)
        await self._keep(reply, "".join(self._said))
        chunks += data(self._completion.chunk({}, "stop"))
        if self._shows_usage and (usage := _usage(reply)):
            chunks += data({**self._completion.chunk(), "choices": [], "usage": usage})
        return chunks + _DONE

    def fail(self, error: ApiError) -> bytes:
        """Return the event that makes clients raise an error."""
        return data(error.body()) + _DONE

    async def whole(self, progress: Sequence[ProgressEvent]) -> dict[str, Any]:
        """Return the whole completion.

        Raises:
            ApiError: The task ended without an answer.
        """
        reply = self._run.answer.finish()[1]
        if error := failure(reply):
            raise error
        if self._is_json and not reply.is_question:
            text = json_of(reply)
        else:
            text = reply.text + rest_of(reply, has_text=bool(reply.text))
        await self._keep(reply, text)
        reasoning = "".join(map(progress_text, progress))
        return self._completion.whole(text, reasoning, _usage(reply))

    async def _keep(self, reply: AgentReply, text: str) -> None:
        """Store where the chat goes on, before its client can know the answer."""
        if not reply.context_id:
            return
        waiting = reply.task_id if reply.is_question else ""
        head = Head(reply.context_id, waiting, self._chat.system_digest)
        await self._heads.put(self._chat.after([Text(text)]), head)


class _Completion:
    """The frame of a completion.

    Args:
        model: The model's name.
        task_id: The task; "" if none is known.
    """

    def __init__(self, model: str, task_id: str) -> None:
        self._own = {
            "id": f"chatcmpl-{task_id or new_id()}",
            "created": int(time.time()),
            "model": model,
        }

    def chunk(
        self, delta: dict[str, Any] | None = None, finish_reason: str | None = None
    ) -> dict[str, Any]:
        """Return a chunk of a stream."""
        choice = {"index": 0, "delta": delta or {}, "finish_reason": finish_reason}
        return {**self._own, "object": "chat.completion.chunk", "choices": [choice]}

    def around(self, name: str) -> tuple[bytes, bytes]:
        """Return the bytes before and after the JSON of a delta's only text."""
        before, after = data(self.chunk({name: "\0"})).split(b'"\\u0000"')
        return before, after

    def whole(
        self, text: str, reasoning: str = "", usage: dict[str, int] | None = None
    ) -> dict[str, Any]:
        """Return a completion."""
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if reasoning:
            message["reasoning_content"] = reasoning
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        whole = {**self._own, "object": "chat.completion", "choices": [choice]}
        return {**whole, "usage": usage} if usage else whole


def _usage(reply: AgentReply) -> dict[str, int] | None:
    usage = reply.usage
    if usage is None:
        return None
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }
