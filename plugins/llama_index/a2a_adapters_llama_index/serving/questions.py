"""Turns what a workflow asks into questions, and their answers into the events it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from workflows.events import Event, HumanResponseEvent

from a2a_adapters import Data, InvalidInputError
from a2a_adapters.plugin import JSON, as_json, as_text

if TYPE_CHECKING:
    from workflows import Workflow
    from workflows.context.serializers import JsonSerializer
    from workflows.events import InputRequiredEvent

_TEXT_KEYS = ("prefix", "question", "prompt", "message", "msg", "text")


def asked(
    events: Sequence[InputRequiredEvent],
    workflow: Workflow,
    serializer: JsonSerializer,
    state: Mapping[str, Any],
) -> dict[str, Mapping[str, Any]]:
    """Return the questions of events: their data, and the names of the responses that suit them."""
    waiters = [each for step in state["workers"].values() for each in step["collected_waiters"]]
    names = [each["waiting_for_event"] for each in waiters if each["resolved_event"] is None]
    declared = [kind for kind in workflow.events if issubclass(kind, HumanResponseEvent)]
    # A step that waits within its call says for what; otherwise the steps that take responses do.
    one_each = [[serializer.resolve_class(name)] for name in names]
    kinds = one_each if len(one_each) == len(events) else [declared or [HumanResponseEvent]]
    questions: dict[str, Mapping[str, Any]] = {}
    for number, event in enumerate(events):
        suited = kinds[min(number, len(kinds) - 1)]
        fields = fields_of(event)
        questions[str(number + 1)] = {
            "text": text_of(fields),
            "data": fields,
            "responses": [f"{kind.__module__}.{kind.__qualname__}" for kind in suited],
            "schema": suited[0].model_json_schema() if suited[0].model_fields else {},
        }
    return questions


def response(serializer: JsonSerializer, asked: Mapping[str, Any], reply: JSON) -> Event:
    """Return the event that answers a question; it has the fields of the question, too.

    Raises:
        InvalidInputError: No event that the workflow waits for suits the reply.
    """
    for name in asked["responses"]:
        kind: type[Event] = serializer.resolve_class(name)
        try:
            return kind(**{**asked["data"], **_named(kind, reply)})
        except ValidationError as error:
            unsuited = InvalidInputError.of(error)
    raise unsuited


def _named(kind: type[Event], reply: JSON) -> Mapping[str, JSON]:
    """Return a reply as fields of an event: an object by its names, anything else as the first."""
    names = list(kind.model_fields)
    if not names:
        return {"response": reply}
    if isinstance(reply, Mapping):
        return {name: value for name, value in reply.items() if name in names}
    return {next((n for n in names if kind.model_fields[n].is_required()), names[0]): reply}


def fields_of(event: Event) -> dict[str, JSON]:
    """Return the fields of an event, declared ones and others."""
    declared = {name: getattr(event, name) for name in type(event).model_fields}
    return {key: as_json(value) for key, value in {**declared, **dict(event.items())}.items()}


def text_of(fields: Mapping[str, JSON]) -> str:
    """Return the words of an event."""
    texts = (fields.get(key) for key in _TEXT_KEYS)
    return next((text for text in texts if isinstance(text, str)), "") or as_text([Data(fields)])
