"""Chat Completions: `POST /v1/chat/completions`."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from a2a_adapters import TextDelta
from a2a_adapters.dialects import new_id, one_line
from a2a_adapters_openai.errors import ApiError
from a2a_adapters_openai.heads import Chat
from a2a_adapters_openai.messages import read_message
from a2a_adapters_openai.output import finish, progress_text, remaining, whole
from a2a_adapters_openai.parameters import ChatParameters, read_parameters
from a2a_adapters_openai.stream import EventStream, data, whole_response
from a2a_adapters_openai.turns import Turn, caller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters import AgentReply
    from a2a_adapters.dialects import DialectServer
    from a2a_adapters_openai.dialect_run import DialectRun
    from a2a_adapters_openai.models import Models
    from a2a_adapters_openai.output import NewEvent

_DONE = b"data: [DONE]\n\n"


class ChatEndpoint:
    """Answers chats.

    Args:
        server: Provides the agents and identifies callers.
        models: The agents as models.
    """

    def __init__(self, server: DialectServer, models: Models) -> None:
        self._server = server
        self._models = models

    async def answer(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            ApiError: The request was refused, or the agent failed.
            A2AError: Likewise.
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
        chat = Chat([*messages, *parameters.schema_messages()], parameters.chat_keys(request))
        if not chat.new_messages:
            text = "the last message must be the user's: an agent cannot continue its own answer"
            raise ApiError(400, text, param="messages")
        turn = Turn(agent, caller(self._server, request), chat, parameters)
        run = await turn.begin()
        shape = ChatShape(parameters, run, turn)
        if parameters.stream:
            return EventStream(run, shape, headers)
        return await whole_response(run, shape, request, headers)


class ChatShape:
    """Builds the chunks, or the whole completion, of a run.

    Args:
        parameters: The request.
        run: The run.
        turn: The turn.
    """

    def __init__(self, parameters: ChatParameters, run: DialectRun[NewEvent], turn: Turn) -> None:
        self._completion = _Completion(parameters.model, run.answer.task_id)
        self._is_json = parameters.is_json
        options = parameters.stream_options
        self._shows_usage = options is not None and bool(options.include_usage)
        self._run = run
        self._turn = turn
        self._texts: list[str] = []
        self._before, self._after = self._completion.around("content")

    def begin(self) -> bytes:
        """Return the first chunk, which holds only the role."""
        return data(self._completion.chunk({"role": "assistant", "content": ""}))

    def add(self, news: Sequence[NewEvent]) -> bytes:
        """Return a chunk for each piece of text and each progress event."""
        chunks = []
        for each in news:
            if isinstance(each, TextDelta):
                if not self._is_json:
                    chunks.append(self._content(each.text))
            elif text := progress_text(each):
                chunks.append(data(self._completion.chunk({"reasoning_content": text})))
        return b"".join(chunks)

    def _content(self, text: str) -> bytes:
        self._texts.append(text)
        return self._before + one_line(text) + self._after

    async def end(self) -> bytes:
        """Return the last chunks of an answer."""
        news, reply = finish(self._run.answer)
        rest = remaining(news, reply, is_json=self._is_json, said="".join(self._texts))
        chunks = self._content(rest) if rest else b""
        await self._turn.keep(self._run, "".join(self._texts), is_question=reply.is_question)
        chunks += data(self._completion.chunk({}, "stop"))
        if self._shows_usage and (usage := _usage(reply)):
            chunks += data({**self._completion.chunk(), "choices": [], "usage": usage})
        return chunks + _DONE

    def fail(self, error: ApiError) -> bytes:
        """Return the event that makes clients raise an error."""
        return data(error.body()) + _DONE

    async def whole(self, progress: Sequence[NewEvent]) -> dict[str, Any]:
        """Return the whole completion.

        Raises:
            ApiError: The task ended without an answer.
        """
        reply = finish(self._run.answer)[1]
        text = whole(reply, is_json=self._is_json)
        await self._turn.keep(self._run, text, is_question=reply.is_question)
        reasoning = "".join(map(progress_text, progress))
        return self._completion.whole(text, reasoning, _usage(reply))


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


_BEGIN = "### Task:"
_ASKED = re.compile(r'\{\s*"(title|tags|follow_ups|queries|text|prompt)"\s*:')
_ANSWER = re.compile(r"^ASSISTANT:", re.MULTILINE)
_TITLE_WORDS = 6


def housekeeping(messages: Sequence[dict[str, Any]]) -> str:
    """Return the answer to a request that Open WebUI sends on its own, "" for any other.

    It asks the model for a title, tags, follow-up questions and search queries, under the id of the
    user's chat. They are answered here, because an agent would take them for messages of the user.
    """
    match messages:
        case [{"role": "user", "content": str(prompt)}] if prompt.startswith(_BEGIN):
            asked = _ASKED.search(prompt)
            history, closing, _ = prompt.partition("<chat_history>")[2].partition("</chat_history>")
        case _:
            return ""
    if asked is None or not closing:
        return ""
    name = asked[1]
    return json.dumps({name: _title(history)} if name == "title" else {name: _nothing(name)})


def _nothing(name: str) -> str | list[str]:
    return "" if name in {"text", "prompt"} else []


def _title(history: str) -> str:
    first = _ANSWER.split(history.strip().removeprefix("USER:"), maxsplit=1)[0]
    words = first.split(maxsplit=_TITLE_WORDS)[:_TITLE_WORDS]
    return " ".join(words)[:80] or "Chat"
