"""Asks the caller what a workflow requests, and reads the replies.

The question has a data part for each request, and one with the JSON schema of a reply: an object
with the answers by the ids of the requests. A text answers the first, and the others are asked
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agent_framework import Content, Message, WorkflowEvent
from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from a2a_adapters import Data, InputRequired
from a2a_adapters.conversing import APPROVAL_CHOICES, approval, numbered, replies
from a2a_adapters.plugin import as_json, as_text
from a2a_adapters_agent_framework.serving.checkpoints import decoded
from a2a_adapters_agent_framework.serving.input import coerced
from a2a_adapters_agent_framework.serving.questions import approval_payload, approval_text

if TYPE_CHECKING:
    from a2a_adapters import Part
    from a2a_adapters.plugin import JSON

_APPROVAL = "function_approval_request"


@dataclass(frozen=True, slots=True)
class PausedWorkflow:
    """A workflow that waits for its caller.

    Attributes:
        task_id: The task that waits.
        checkpoint: The checkpoint as JSON.
        requests: What the caller is asked, by the id of the request: `text`, `data` and `schema`,
            and whether it is a review.
        answers: The answers so far, by the id of the request.
    """

    task_id: str
    checkpoint: str
    requests: Mapping[str, Mapping[str, Any]]
    answers: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def waiting(self) -> list[str]:
        """The ids of the requests without an answer."""
        return [each for each in self.requests if each not in self.answers]


def as_request(event: WorkflowEvent[Any]) -> Mapping[str, Any]:
    """Return a request of the framework as it is stored."""
    if is_approval(event.data):
        call = event.data.to_dict()
        schema: JSON = {"type": "boolean"}
        return {"text": approval_text(call), "data": approval_payload(call), "schema": schema}
    text, data = _asked(event.data)
    return {
        "text": text,
        "data": {"call_id": event.request_id, **data},
        "schema": _schema(event),
        "is_review": _is_review(event),
    }


def question(paused: PausedWorkflow, hint: str = "") -> InputRequired:
    """Return the question about the requests without an answer.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    waiting = {each: paused.requests[each] for each in paused.waiting}
    has_choice = any("tool" in each["data"] or each.get("is_review") for each in waiting.values())
    choices = APPROVAL_CHOICES if has_choice else ""
    prompt = numbered([each["text"] for each in waiting.values()], hint, choices)
    properties = {key: {"title": each["text"], **each["schema"]} for key, each in waiting.items()}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    parts = [*(each["data"] for each in waiting.values()), {"response_schema": form}]
    return InputRequired(prompt, [Data(as_json(part)) for part in parts], durable=True)


def answered(paused: PausedWorkflow, parts: Sequence[Part]) -> PausedWorkflow:
    """Return the run with the answers in a reply.

    Raises:
        InvalidInputError: The reply is unclear, or not of the type of the request. It answers
            nothing.
    """
    given = {
        key: as_json(value)
        for key, value in replies(parts, list(paused.requests), paused.waiting).items()
    }
    events = decoded(paused.checkpoint).pending_request_info_events
    for key, value in given.items():
        _response(events[key], value)
    return replace(paused, answers={**paused.answers, **given})


def responses(paused: PausedWorkflow) -> dict[str, Any]:
    """Return the answers as the framework takes them, by the id of the request."""
    events = decoded(paused.checkpoint).pending_request_info_events
    return {key: _response(events[key], value) for key, value in paused.answers.items()}


def _response(event: WorkflowEvent[Any], value: JSON) -> Any:
    """Return an answer in the type of its request.

    Raises:
        InvalidInputError: It is not of this type.
    """
    if is_approval(event.data):
        return event.data.to_function_approval_response(approval(value) is True)
    if hasattr(event.data, "create_response"):  # a handoff between agents
        return event.data.create_response(str(value))
    if _is_review(event):
        return _reviewed(event.response_type, value)
    if event.response_type in {Any, object}:
        return value
    return coerced(value, event.response_type)


def _is_review(event: WorkflowEvent[Any]) -> bool:
    """Whether an orchestration of the framework asks about a draft or a plan."""
    kind = event.response_type
    return hasattr(kind, "approve") and kind.__module__.startswith("agent_framework")


def _reviewed(kind: Any, value: JSON) -> Any:
    """Return the approval, or the words of the caller."""
    decision = approval(value)
    if decision is True:
        return kind.approve()
    said = decision or "no"
    return kind.revise(said) if hasattr(kind, "revise") else kind.from_strings([said])


def _schema(event: WorkflowEvent[Any]) -> Mapping[str, Any]:
    if hasattr(event.data, "create_response"):
        return {"type": "string"}
    if _is_review(event):
        return {"type": ["boolean", "string"]}
    try:
        return TypeAdapter(event.response_type).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError):
        return {}


def is_approval(data: object) -> bool:
    """Return whether the data of a request asks for the approval of a tool call."""
    return isinstance(data, Content) and data.type == _APPROVAL


def _asked(data: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the words of a request, and its data."""
    if isinstance(data, str):
        return data, {}
    if hasattr(data, "agent_response"):  # a handoff between agents, or a draft
        return data.agent_response.text or "What should the agents do?", {}
    if isinstance(plan := getattr(data, "plan", None), Message):
        return plan.text, {}
    value = as_json(data)
    return as_text([Data(value)]), {"request": value}
