"""Converts the final output of a run: data, images and token usage."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from agents import AgentOutputSchemaBase
from openai.types.responses.response_output_item import ImageGenerationCall
from pydantic import TypeAdapter

from a2a_adapters import Data, File, Output, TaskMetadata, TokenUsage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents import Agent
    from agents.usage import Usage

    from a2a_adapters.plugin import JSON


def answers_text(agent: Agent[Any]) -> bool:
    """Whether an agent's answer is text rather than JSON."""
    kind = agent.output_type
    if isinstance(kind, AgentOutputSchemaBase):
        return kind.is_plain_text()
    return kind is None or kind is str


def final_data(output: object, agent: Agent[Any], *, is_tools: bool) -> Output:
    """Return final data with the schema of the agent's output type.

    A tool's result gets no schema: it need not be of that type.
    """
    schema = None if is_tools else _schema(agent.output_type)
    return Output([Data(output, schema=schema)], metadata={"source": agent.name})


def image_of(call: object, agent: str) -> Output | None:
    """Return the image of a hosted tool; None for any other call.

    Args:
        call: The call, as the model's library has it or in JSON.
        agent: The name of the agent that made it.
    """
    known = call.model_dump() if isinstance(call, ImageGenerationCall) else call
    match known:
        case {"type": "image_generation_call", "result": str(encoded), **others} if encoded:
            media_type = f"image/{others.get('output_format') or 'png'}"
            image = File(content=base64.b64decode(encoded), media_type=media_type)
            return Output([image], metadata={"source": agent})
        case _:
            return None


def metadata_of(usage: Usage, agent: Agent[Any]) -> TaskMetadata:
    """Return the token usage so far and the agent that spoke last."""
    tokens = TokenUsage(usage.input_tokens, usage.output_tokens, usage.total_tokens)
    return TaskMetadata(
        {"source": agent.name, **(tokens.as_metadata() if usage.total_tokens else {})}
    )


def _schema(kind: object) -> Mapping[str, JSON] | None:
    if isinstance(kind, AgentOutputSchemaBase):
        return kind.json_schema()
    return TypeAdapter(kind).json_schema()
