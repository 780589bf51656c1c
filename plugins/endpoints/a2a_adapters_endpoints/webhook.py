"""Serves a webhook."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    Data,
    File,
    InvalidInputError,
    Output,
    Progress,
    TextDelta,
)
from a2a_adapters.dialects import event_data
from a2a_adapters.plugin import (
    JSON,
    Adapter,
    AgentDescription,
    AgentFailedError,
    as_json,
    check_arguments,
)
from a2a_adapters_endpoints.http import Endpoint, checked_url
from a2a_adapters_endpoints.streams import lines_of, texts_of
from a2a_adapters_endpoints.words import WordParser, token_of

__all__ = ["WebhookAgent"]

_EXAMPLE = "webhook:https://n8n.example.com/webhook/agent"
_TEXT_KEYS = ("output", "text", "answer", "response", "message", "delta")
_DONE = b"[DONE]"
_EVENTS = "text/event-stream"
_STREAMS = (_EVENTS, "application/x-ndjson", "application/jsonl")


class WebhookAgent(Adapter):
    """Posts each message to a URL once. The answer is text, JSON or a stream of either.

    The body has `text`, `data`, `files`, `context_id`, `task_id`, `message_id` and `owner`. The
    text of a JSON answer is its `output`, `text`, `answer`, `response` or `message`; other JSON is
    data.

    Args:
        url: The webhook, trusted as typed. Redirects are not followed.
        token: A bearer token.
        seconds: Time limit between two pieces of the answer.
        answer_bytes: The maximum size of a response body.
        name: The agent's name.
        description: The agent's description.

    Raises:
        ConfigurationError: The URL is invalid.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        seconds: float = 300,
        answer_bytes: int = 8 * 1024 * 1024,
        name: str = "webhook",
        description: str = "An agent behind a webhook.",
    ) -> None:
        check_arguments(WebhookAgent, locals(), {"seconds", "answer_bytes"})
        self._endpoint = Endpoint(checked_url(url, _EXAMPLE), token, seconds, answer_bytes)
        self._about = AgentDescription(name=name, description=description, input_modes=["*/*"])

    @classmethod
    def of_word(cls, word: str) -> WebhookAgent:
        """Return the agent for the text after `webhook:`.

        Raises:
            ConfigurationError: The text is invalid.
        """
        parser = WordParser("webhook")
        parser.add_argument("--token-env", metavar="NAME", help="the variable with the token")
        parser.add_argument("--seconds", type=float, default=300, help="how long it may be silent")
        parser.add_argument("url")
        said = parser.read(word)
        return cls(said.url, token=token_of(said.token_env), seconds=said.seconds)

    def describe(self) -> AgentDescription:
        """Describe the webhook."""
        return self._about

    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Post the message.

        Raises:
            InvalidInputError: The message refers to a file by URL.
        """
        return self._answer(_body(request), request.message.message_id)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _answer(
        self, body: JSON, message_id: str
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        async with self._endpoint.post(body, {"Idempotency-Key": message_id}) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            chunks = self._endpoint.chunks(response)
            values = _streamed(chunks, kind) if kind in _STREAMS else _whole(chunks, kind)
            async for value in values:
                for event in _events(value):
                    yield event


async def _streamed(chunks: AsyncIterator[bytes], kind: str) -> AsyncIterator[Any]:
    """Yield the values of server-sent events, or of lines of JSON."""
    async for data in event_data(chunks) if kind == _EVENTS else lines_of(chunks):
        if data != _DONE:
            yield _parsed(data)


async def _whole(chunks: AsyncIterator[bytes], kind: str) -> AsyncIterator[Any]:
    """Yield a JSON value, or text as it arrives."""
    if kind.endswith("json"):
        yield _parsed(b"".join([chunk async for chunk in chunks]))
        return
    async for text in texts_of(chunks):
        yield text


def _body(request: AgentRequest) -> JSON:
    files = [
        {
            "name": part.filename,
            "media_type": part.guess_media_type(),
            "content": base64.b64encode(part.received()).decode(),
        }
        for part in request.parts
        if isinstance(part, File)
    ]
    data = [as_json(part.value) for part in request.parts if isinstance(part, Data)]
    if not (request.text or files or data):
        raise InvalidInputError("the message is empty")
    return {
        "text": request.text,
        "data": data,
        "files": files,
        "context_id": request.context_id,
        "task_id": request.task_id,
        "message_id": request.message.message_id,
        "owner": request.owner,
    }


def _parsed(data: bytes) -> Any:
    """Return the parsed JSON, or the text if it is not JSON."""
    text = data.decode(errors="replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _events(value: Any) -> Iterator[AgentEvent]:
    if value in ("", None, [], {}):
        return
    match value:
        case str():
            yield TextDelta(value)
        case [only]:
            yield from _events(only)
        case {"error": error} if error:
            raise AgentFailedError("tool", "The webhook reports an error.")
        case {"progress": str(text)}:
            yield Progress(text)
        case dict():
            key = next((key for key in _TEXT_KEYS if isinstance(value.get(key), str)), None)
            yield Output([Data(value)]) if key is None else TextDelta(value[key])
        case _:
            yield Output([Data(value)])
