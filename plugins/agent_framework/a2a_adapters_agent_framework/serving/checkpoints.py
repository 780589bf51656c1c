"""The checkpoint of a workflow that waits, as JSON.

The framework's checkpoints contain pickles. They are read only from the server's own storage, and
only with the framework's types, those that executors declare, and those registered with
`register_checkpoint_type`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

from agent_framework import (
    WorkflowCheckpoint,
    WorkflowCheckpointException,
    register_checkpoint_type,
)
from agent_framework._workflows._checkpoint_encoding import (
    decode_checkpoint_value,
    encode_checkpoint_value,
)

from a2a_adapters.plugin import AgentFailedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_framework import Workflow

_ALLOWED = frozenset({"types:GenericAlias"})  # of `list[Message]`, with which handoffs are answered


def register_types(workflow: Workflow) -> None:
    """Allow checkpoints to have the types of messages and requests that executors declare."""
    for executor in workflow.get_executors_list():
        kinds = [*executor.input_types, *executor.output_types, *executor.workflow_output_types]
        # There is no public name for the types of requests and responses.
        pairs = executor._response_handlers  # noqa: SLF001
        for kind in _flat([*kinds, *(each for pair in pairs for each in pair)]):
            if not kind.__module__.startswith(("builtins", "agent_framework")):
                register_checkpoint_type(kind)


def encoded(checkpoint: WorkflowCheckpoint) -> str:
    """Return a checkpoint as JSON.

    Raises:
        AgentFailedError: It could not be read again; the cause says which type is not registered.
    """
    text = json.dumps(encode_checkpoint_value(checkpoint.to_dict()))
    try:
        decoded(text)
    except WorkflowCheckpointException as error:
        raise AgentFailedError from error
    return text


def decoded(text: str) -> WorkflowCheckpoint:
    """Return a checkpoint that was stored as JSON.

    Raises:
        WorkflowCheckpointException: It has a type that is not registered.
    """
    values = decode_checkpoint_value(json.loads(text), allowed_types=_ALLOWED)
    return WorkflowCheckpoint.from_dict(values)


def _flat(kinds: Iterable[Any]) -> Iterator[type]:
    """Yield classes, and those in unions and generic types."""
    for kind in kinds:
        if isinstance(kind, type):
            yield kind
        yield from _flat(get_args(kind))
