"""Converts messages to parts for a remote agent, and its answers to responses.

The framework passes all messages of a conversation to each call of a model. Each answer therefore
contains its place in the remote conversation, in the `provider_details` that the framework keeps in
histories: all messages after it are new to the agent.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pydantic_ai import (
    BinaryContent,
    FilePart,
    InstructionPart,
    ModelRequest,
    ModelResponse,
    RequestUsage,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.messages import BaseToolReturnPart, FileUrl, RetryFeedbackPart, TextContent

from a2a_adapters import File, Part, Text
from a2a_adapters.plugin import dialogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic_ai import ModelMessage, UserContent
    from pydantic_ai.models import ModelRequestParameters

    from a2a_adapters import AgentReply

PROVIDER = "a2a"
"""The name of remote agents as a provider of models."""

QUESTION = {PROVIDER: {"is_question": True}}
"""The `provider_details` of the part of a response that is the agent's question."""

_GO_ON = Text("Please go on.")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a conversation with an agent.

    Attributes:
        agent: The agent's address.
        context_id: Its contextId; "" for a new conversation.
        task_id: The task that waits for the next message; "" when none does.
        needs_auth: Whether it waits for an authorisation.
    """

    agent: str
    context_id: str = ""
    task_id: str = ""
    needs_auth: bool = False

    def after(self, reply: AgentReply) -> Place:
        """Return the place after an answer."""
        task_id = reply.task_id if reply.is_question else ""
        return Place(self.agent, reply.context_id, task_id, reply.state == "auth-required")

    def as_details(self) -> dict[str, Any]:
        """Return the place as the `provider_details` of a response."""
        return {PROVIDER: asdict(self)}


def new_to(agent: str, messages: Sequence[ModelMessage]) -> tuple[Place, Sequence[ModelMessage]]:
    """Return the current place of an agent's conversation, and the messages that are new to it."""
    for position in range(len(messages), 0, -1):
        message = messages[position - 1]
        if isinstance(message, ModelResponse):
            place = (message.provider_details or {}).get(PROVIDER)
            if place and place["agent"] == agent and place["context_id"]:
                return Place(**place), messages[position:]
    return Place(agent), messages


def asked_by(response: ModelResponse) -> tuple[Place, str] | None:
    """Return the place and the question of a response, if a remote agent asks."""
    asked = "".join(
        part.content for part in response.parts if isinstance(part, TextPart) and is_question(part)
    )
    place = Place(**(response.provider_details or {}).get(PROVIDER, {"agent": ""}))
    return (place, asked.strip()) if asked and place.task_id else None


def is_question(part: TextPart) -> bool:
    """Whether a part is the question of a remote agent."""
    return part.provider_details == QUESTION


def as_parts(messages: Sequence[ModelMessage], instructions: str | None) -> list[Part]:
    """Convert messages to the parts of one message, a dialogue unless the user wrote them all."""
    turns = [turn for message in messages for turn in _turns(message)]
    if instructions:
        turns.insert(0, ("System", [Text(instructions)]))
    return dialogue(turns) or [_GO_ON]


def instructions_of(
    messages: Sequence[ModelMessage], parameters: ModelRequestParameters
) -> str | None:
    """Return the instructions of a request."""
    if parameters.instruction_parts:
        return InstructionPart.join(parameters.instruction_parts)
    last = messages[-1]
    return last.instructions if isinstance(last, ModelRequest) else None


def files_of(reply: AgentReply) -> Iterator[FilePart]:
    """Yield the files of an answer that are given by their bytes."""
    for file in reply.files:
        if file.content is not None:
            content = BinaryContent(file.content, media_type=file.guess_media_type())
            yield FilePart(BinaryContent.narrow_type(content))


def usage_of(reply: AgentReply) -> RequestUsage:
    """Return the token usage of an answer, as far as the agent reports it."""
    usage = reply.counted_usage(__name__)
    if usage is None:
        return RequestUsage()
    return RequestUsage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def _turns(message: ModelMessage) -> Iterator[tuple[str, list[Part]]]:
    """Yield the speaker and parts of each part of a message that has text or files."""
    for part in message.parts:
        match part:
            case UserPromptPart(content=content):
                given = [content] if isinstance(content, str) else content
                yield "User", [made for each in given if (made := _part(each))]
            case SystemPromptPart(content=text):
                yield "System", [Text(text)]
            case TextPart(content=text):
                yield "Assistant", [Text(text)]
            case ToolCallPart(tool_name=name):
                yield "Assistant", [Text(f"(calls {name} with {part.args_as_json_str()})")]
            case BaseToolReturnPart():
                yield "Tool", [Text(part.model_response_str())]
            case RetryFeedbackPart():
                yield "User", [Text(part.model_response())]


def _part(content: UserContent) -> Part | None:
    """Convert content; None for a mark that only some providers know."""
    match content:
        case str():
            return Text(content)
        case TextContent():
            return Text(content.content)
        case BinaryContent():
            return File(content=content.data, media_type=content.media_type)
        case FileUrl():
            return File(url=content.url, media_type=content.media_type)
    return None
