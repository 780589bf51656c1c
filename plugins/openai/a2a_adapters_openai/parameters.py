"""The parameters of requests."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_json

from a2a_adapters import Text
from a2a_adapters.dialects import read_json
from a2a_adapters_openai.errors import ApiError
from a2a_adapters_openai.messages import SYSTEM, ChatMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

IGNORED_HEADER = "X-Ignored-Parameters"
"""The response header that names the ignored parameters."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MOST_NAMES = 40

_CHAT_HEADERS = ("x-openwebui-chat-id", "x-openwebui-user-id", "x-chat-id", "x-user-id")
"""Request headers in which front ends name the chat and its user."""


class ResponseFormat(BaseModel):
    """Format of the answer: text, any JSON, or JSON of a schema."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    type: Literal["text", "json_object", "json_schema"]
    json_schema: dict[str, Any] | None = None
    of_schema: Annotated[dict[str, Any] | None, Field(alias="schema")] = None

    @property
    def schema_of_answer(self) -> object | None:
        """The JSON schema of the answer, None if it has none."""
        return (self.json_schema or {}).get("schema") or self.of_schema


class Parameters(BaseModel):
    """Parameters common to both APIs."""

    model_config = ConfigDict(extra="allow")

    model: str
    stream: bool | None = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    metadata: dict[str, str] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None

    @property
    def format(self) -> ResponseFormat | None:
        """Format of the answer."""
        return None

    @property
    def is_json(self) -> bool:
        """Whether the answer must be JSON."""
        return self.format is not None and self.format.type != "text"

    def schema_messages(self) -> list[ChatMessage]:
        """Return the system message with the expected JSON schema, if there is one."""
        schema = self.format.schema_of_answer if self.format is not None else None
        if not self.is_json or schema is None:
            return []
        text = f"Answer only with JSON of this schema: {to_json(schema).decode()}"
        return [ChatMessage(SYSTEM, [Text(text)])]

    def check(self) -> None:
        """Refuse parameters that would change the meaning of the answer.

        Raises:
            ApiError: No agent can follow a parameter.
        """
        if self.tool_choice not in (None, "auto", "none"):
            text = "tool_choice cannot be forced: the agent calls its own tools, not the client's"
            raise ApiError(400, text, param="tool_choice", code="unsupported_parameter")

    def headers(self) -> dict[str, str]:
        """Return the header that names the ignored parameters."""
        given = {"tools": self.tools, "tool_choice": self.tool_choice, **(self.model_extra or {})}
        names = [name for name, value in given.items() if value not in (None, [], {}, False)]
        shown = [name for name in names if _NAME.fullmatch(name)][:_MOST_NAMES]
        return {IGNORED_HEADER: ", ".join(shown)} if shown else {}

    def chat_keys(self, request: Request) -> Sequence[str]:
        """Return the client's names for the chat and its user."""
        named = (self.user, self.safety_identifier, self.prompt_cache_key)
        return [request.headers.get(name, "") for name in _CHAT_HEADERS] + [k or "" for k in named]


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool | None = None


class ChatParameters(Parameters):
    """A request of Chat Completions."""

    messages: list[dict[str, Any]]
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    n: int | None = None
    logprobs: bool | None = None
    modalities: list[str] | None = None

    @property
    def format(self) -> ResponseFormat | None:
        """Format of the answer."""
        return self.response_format

    def check(self) -> None:
        """Refuse parameters that would change the meaning of the answer."""
        super().check()
        if self.n not in (None, 1):
            raise _unsupported("n", "an agent gives one answer, so n must be 1")
        if self.logprobs:
            raise _unsupported("logprobs", "agents have no log probabilities")
        if self.modalities not in (None, [], ["text"]):
            raise _unsupported("modalities", "agents answer with text")


class TextOptions(BaseModel):
    """Options of the answer's text."""

    format: ResponseFormat | None = None


class ResponseParameters(Parameters):
    """A request of Responses."""

    input: str | list[dict[str, Any]]
    instructions: str | None = None
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None
    background: bool | None = None
    text: TextOptions | None = None
    prompt: Any = None

    @property
    def format(self) -> ResponseFormat | None:
        """Format of the answer."""
        return self.text.format if self.text is not None else None

    def check(self) -> None:
        """Refuse parameters that would change the meaning of the answer."""
        super().check()
        if self.prompt is not None:
            raise _unsupported("prompt", "this server stores no prompts; send instructions")
        if self.previous_response_id is not None and self.conversation is not None:
            text = "give either previous_response_id or conversation, not both"
            raise _unsupported("previous_response_id", text)


def _unsupported(param: str, message: str) -> ApiError:
    return ApiError(400, message, param=param, code="unsupported_parameter")


AnyParameters = TypeVar("AnyParameters", bound=Parameters)


async def read_body(request: Request) -> object:
    """Return the JSON of a request.

    Raises:
        ApiError: A number is too large for a float.
        A2AError: The body is not JSON.
    """
    body = await read_json(request)
    _check_numbers(body)
    return body


def _check_numbers(value: object) -> None:
    match value:
        case float() if not math.isfinite(value):
            raise ApiError(400, "a number is too large")
        case dict():
            for inner in value.values():
                _check_numbers(inner)
        case list():
            for inner in value:
                _check_numbers(inner)


async def read_parameters(request: Request, kind: type[AnyParameters]) -> AnyParameters:
    """Return the parameters of a request.

    Raises:
        ApiError: A parameter is invalid; the error names the first one.
        A2AError: The body is not JSON.
    """
    body = await read_body(request)
    if not isinstance(body, dict):
        raise ApiError(400, "the body must be a JSON object")
    try:
        parameters = kind.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        param = ".".join(map(str, first["loc"]))[:200]
        raise ApiError(400, f"{param}: {first['msg']}", param=param) from error
    parameters.check()
    return parameters
