"""Serves a model that has OpenAI's chat API."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    ConfigurationError,
    File,
    InvalidInputError,
    Part,
    Progress,
    TaskMetadata,
    TextDelta,
    TokenUsage,
)
from a2a_adapters.dialects import event_data, quote
from a2a_adapters.plugin import (
    JSON,
    Adapter,
    AgentDescription,
    AgentFailedError,
    as_text,
    check_arguments,
)
from a2a_adapters_endpoints.http import Endpoint, checked_url
from a2a_adapters_endpoints.words import WordParser, token_of

__all__ = ["ChatAgent"]

_EXAMPLE = "openai:http://localhost:11434/v1#llama3"
_DONE = b"[DONE]"
_KEY = "OPENAI_API_KEY"


class ChatAgent(Adapter):
    """Answers with a model from Ollama, vLLM, llama.cpp or another server with OpenAI's chat API.

    The model gets the conversation so far, bounded by `Limits`.

    Args:
        url: The API's base URL, which ends in `/v1` for most servers; trusted as typed.
        model: The model's name.
        system: Instructions for the model. The card does not show them.
        token: A bearer token for the API.
        seconds: Time limit between two pieces of the answer.
        answer_bytes: The maximum size of a response body.
        name: The agent's name; by default the model's.
        description: The agent's description.

    Raises:
        ConfigurationError: The URL is invalid, or no model is named.
    """

    uses_history = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        system: str = "",
        token: str | None = None,
        seconds: float = 300,
        answer_bytes: int = 64 * 1024 * 1024,
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        check_arguments(ChatAgent, locals(), {"seconds", "answer_bytes"})
        if not model:
            raise ConfigurationError(f"name the model, as in {_EXAMPLE}")
        url = checked_url(url, _EXAMPLE).rstrip("/")
        self._endpoint = Endpoint(f"{url}/chat/completions", token, seconds, answer_bytes)
        self._model = model
        self._system = system
        self._about = AgentDescription(
            name=name or model,
            description=description or f"The model {model}.",
            input_modes=["text/plain", "application/json", "image/*"],
        )

    @classmethod
    def of_word(cls, word: str) -> ChatAgent:
        """Return the agent for the text after `openai:`.

        Raises:
            ConfigurationError: The text is invalid.
        """
        parser = WordParser("openai")
        parser.add_argument("--system", default="", help="instructions for the model")
        parser.add_argument(
            "--token-env", metavar="NAME", help=f"the variable with the key; by default {_KEY}"
        )
        parser.add_argument("--seconds", type=float, default=300, help="how long it may be silent")
        parser.add_argument("url")
        said = parser.read(word)
        url, _, model = said.url.partition("#")
        token = token_of(said.token_env) or os.environ.get(_KEY)
        return cls(url, model, system=said.system, token=token, seconds=said.seconds)

    def describe(self) -> AgentDescription:
        """Describe the agent by its model."""
        return self._about

    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Call the model.

        Raises:
            InvalidInputError: The message is empty, or contains a file that is not an image.
        """
        system = [{"role": "system", "content": self._system}] if self._system else []
        roles = {"agent": "assistant", "user": "user"}
        earlier = [
            {"role": roles[turn.role], "content": as_text(turn.parts)} for turn in request.history
        ]
        asked = {"role": "user", "content": _content(request.parts)}
        return self._answer([*system, *earlier, asked])

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _answer(
        self, messages: Sequence[JSON]
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        body: JSON = {
            "model": self._model,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        async with self._endpoint.post(body) as response:
            async for data in event_data(self._endpoint.chunks(response)):
                if data == _DONE:
                    return
                for event in _events(data):
                    yield event


def _content(parts: Sequence[Part]) -> JSON:
    files = [part for part in parts if isinstance(part, File)]
    text = as_text([part for part in parts if not isinstance(part, File)])
    if not text.strip() and not files:
        raise InvalidInputError("the message is empty")
    if not files:
        return text
    content: list[JSON] = [{"type": "text", "text": text}] if text else []
    for file in files:
        kind, encoded = file.guess_media_type(), base64.b64encode(file.received()).decode()
        if not kind.startswith("image/"):
            raise InvalidInputError(f"this agent takes no files of the type {kind}")
        content.append({"type": "image_url", "image_url": {"url": f"data:{kind};base64,{encoded}"}})
    return content


def _events(data: bytes) -> Iterator[AgentEvent]:
    try:
        chunk: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AgentFailedError("model_unavailable") from error
    if not isinstance(chunk, Mapping) or chunk.get("error"):
        cause = RuntimeError(quote(str(chunk), 500))
        raise AgentFailedError("model_unavailable") from cause
    for delta in _deltas(chunk.get("choices") or []):
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            yield Progress(str(thought), {"type": "thought"})
        if text := delta.get("content"):
            yield TextDelta(str(text))
    match chunk.get("usage"):
        case {"prompt_tokens": int(given), "completion_tokens": int(made)}:
            yield TaskMetadata(TokenUsage(given, made, given + made).as_metadata())


def _deltas(choices: Any) -> list[Mapping[str, Any]]:
    """Return the deltas of a chunk's choices.

    Raises:
        AgentFailedError: The chunk does not fit the API.
    """
    match choices:
        case [*each] if all(isinstance(choice, Mapping) for choice in each):
            deltas = [choice.get("delta") or {} for choice in each]
            if all(isinstance(delta, Mapping) for delta in deltas):
                return deltas
    raise AgentFailedError("model_unavailable") from ValueError(quote(str(choices), 500))
