"""The outcome of a run: the responses that the agent has accepted, its output and its usage."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from pydantic_ai import (
    BinaryContent,
    DeferredToolRequests,
    ModelRequest,
    ModelResponse,
    TextPart,
)
from pydantic_ai.messages import BaseToolReturnPart, RetryFeedbackPart, RetryPromptPart

from a2a_adapters import File, Output, TaskMetadata, TokenUsage
from a2a_adapters.plugin import as_output
from a2a_adapters_pydantic_ai.calling.messages import is_question
from a2a_adapters_pydantic_ai.serving.guards import validates_output

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pydantic_ai import ModelMessage, ModelResponsePart, RunUsage
    from pydantic_ai.agent import AbstractAgent


def accepted(
    messages: Sequence[ModelMessage], before: Collection[str | None]
) -> list[ModelResponse]:
    """Return the responses that the agent did not ask the model to replace.

    Args:
        messages: The messages of the conversation so far.
        before: The ids of the runs before.
    """
    return [
        message
        for message, following in zip(messages, [*messages[1:], None], strict=True)
        if isinstance(message, ModelResponse)
        and message.run_id not in before
        and message.state != "interrupted"
        and not refuses(message, following)
    ]


def refuses(said: ModelMessage | None, following: ModelMessage | None) -> bool:
    """Whether a message asks the model for another response in place of its last one.

    A response is followed by the results of its tool calls, or ends the run, unless the agent or a
    hook asks for another.
    """
    if not isinstance(following, ModelRequest):
        return False
    if any(isinstance(part, RetryFeedbackPart) for part in following.parts):
        return True
    if not isinstance(said, ModelResponse) or said.run_id != following.run_id:
        return False
    calls = {call.tool_call_id for call in said.tool_calls}
    results = (p for p in following.parts if isinstance(p, BaseToolReturnPart | RetryPromptPart))
    return not any(result.tool_call_id in calls for result in results)


def with_text(parts: Sequence[ModelResponsePart], output: str) -> list[ModelResponsePart]:
    """Return the parts of a response with the text of the output only.

    The framework leaves out text before a native tool call, and checks may replace all of it.
    """
    texts = [part for part in parts if isinstance(part, TextPart)]
    said = ["" if is_question(part) else part.content for part in texts]
    for number in range(len(said) + 1):
        if "".join(said[number:]) == output:
            left_out = {id(part) for part in texts[:number]}
            return [part for part in parts if id(part) not in left_out]
    return [TextPart(output), *(part for part in parts if not isinstance(part, TextPart))]


def unanswered(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return the messages of a run up to the request whose response was interrupted."""
    is_partial = isinstance(messages[-1], ModelResponse)
    return list(messages[:-1] if is_partial else messages)


def answers_text(output_type: Any) -> bool:
    """Whether the text of a model is the output, rather than JSON or the input of a function."""
    kinds = output_type if isinstance(output_type, Sequence) else ()
    if get_origin(output_type) in {Union, UnionType}:
        kinds = get_args(output_type)
    return output_type is str or any(map(answers_text, kinds))


def asking_output_type(agent: AbstractAgent[Any, Any]) -> Any:
    """Return an agent's output type, extended by the questions of its tools.

    Returns None, which leaves it as it is, for an agent with output validators: the framework
    refuses another output type for it.
    """
    return None if validates_output(agent) else [agent.output_type, DeferredToolRequests]


def final_output(output: object, agent: AbstractAgent[Any, Any]) -> Iterator[Output]:
    """Yield the output of a run other than streamed text, unless it is empty."""
    if isinstance(output, BinaryContent):
        return  # its part was sent already
    if converted := as_output(output, schema=agent.output_json_schema()):
        yield converted


def as_file(content: BinaryContent) -> Output:
    """Return a file of the answer."""
    return Output([File(content=content.data, media_type=content.media_type)])


def metadata_of(usage: RunUsage) -> TaskMetadata:
    """Return the token usage so far."""
    tokens = TokenUsage(usage.input_tokens, usage.output_tokens, usage.total_tokens)
    return TaskMetadata(tokens.as_metadata() if usage.total_tokens else {})
