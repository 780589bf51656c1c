"""The checkpoint of a workflow that waits, as JSON.

The framework's checkpoints have pickles inside, so they are read only from the server's own
storage, and only of the framework's types and of those that `register_checkpoint_type` names.
"""

from __future__ import annotations

import json

from agent_framework import WorkflowCheckpoint, WorkflowCheckpointException
from agent_framework._workflows._checkpoint_encoding import (
    decode_checkpoint_value,
    encode_checkpoint_value,
)

from a2a_adapters import AgentFailedError

_ALLOWED = frozenset({"types:GenericAlias"})  # of `list[Message]`, with which handoffs are answered


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
