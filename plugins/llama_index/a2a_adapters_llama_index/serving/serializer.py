"""Encodes the context of a workflow as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from workflows.context.serializers import JsonSerializer
from workflows.context.state_store import infer_state_type
from workflows.context.utils import get_qualified_name
from workflows.events import Event

if TYPE_CHECKING:
    from workflows import Workflow

_ESCAPED = "__escaped__"
_MARKS = {"__is_pydantic", "__is_component", _ESCAPED}


class ContextSerializer(JsonSerializer):
    """Encodes the values in a context, and keeps those of callers apart from encoded objects.

    The framework's own serializer does not do the latter: a caller's data could name any class,
    which the framework would import. This one looks classes up only among those that the workflow
    declares and the models that are imported already.
    """

    def __init__(self, workflow: Workflow) -> None:
        super().__init__(allowed_types={*workflow.events, infer_state_type(workflow)})

    def resolve_class(self, qualified_name: str) -> type[Any]:
        """Return the class of an encoded object.

        Raises:
            ValueError: It is not known.
        """
        try:
            return super().resolve_class(qualified_name)
        except ValueError:
            module, _, name = qualified_name.rpartition(".")
            found = getattr(sys.modules.get(module), name, None)
            if not isinstance(found, type) or not issubclass(found, BaseModel):
                raise
            return found

    def serialize_value(self, value: Any) -> Any:
        """Encode a value."""
        if isinstance(value, Event):  # it may have any attribute, such as that of a component
            content = value.model_dump(mode="json")
            name = get_qualified_name(value)
            return {"__is_pydantic": True, "value": content, "qualified_name": name}
        encoded = super().serialize_value(value)
        if hasattr(value, "class_name"):  # the files in a memory are bytes
            return to_jsonable_python(encoded)
        is_marked = isinstance(value, dict) and not _MARKS.isdisjoint(value)
        return {_ESCAPED: encoded} if is_marked else encoded

    def deserialize_value(self, data: Any) -> Any:
        """Return the value that was encoded."""
        match data:
            case {"__escaped__": dict(encoded)} if len(data) == 1:
                return {key: self.deserialize_value(value) for key, value in encoded.items()}
        return super().deserialize_value(data)
