"""Converts outputs of a run: data, files and token usage."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from pydantic_ai import BinaryContent, DeferredToolRequests

from a2a_adapters import File, Output, TaskMetadata, TokenUsage
from a2a_adapters.plugin import as_output
from a2a_adapters_pydantic_ai.serving.guards import validates_output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai import RunUsage
    from pydantic_ai.agent import AbstractAgent


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
