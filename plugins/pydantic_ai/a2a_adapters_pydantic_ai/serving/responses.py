"""Reads the responses of a run that the agent has accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai import ModelRequest, ModelResponse, TextPart
from pydantic_ai.messages import RetryFeedbackPart

from a2a_adapters_pydantic_ai.calling.messages import is_question

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pydantic_ai import ModelMessage


def accepted(
    messages: Sequence[ModelMessage], before: Collection[str | None]
) -> list[ModelResponse]:
    """Return the responses to which the agent did not ask the model for another.

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
        and not refuses(following)
    ]


def refuses(message: ModelMessage | None) -> bool:
    """Whether a message asks the model for another response in place of its last one."""
    return isinstance(message, ModelRequest) and any(
        isinstance(part, RetryFeedbackPart) for part in message.parts
    )


def text_of(response: ModelResponse) -> str:
    """Return the text of a response, without the question of a remote agent."""
    texts = (part for part in response.parts if isinstance(part, TextPart))
    return "".join(part.content for part in texts if not is_question(part))


def unanswered(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return the messages of a run up to the request whose response was interrupted."""
    is_partial = isinstance(messages[-1], ModelResponse)
    return list(messages[:-1] if is_partial else messages)
