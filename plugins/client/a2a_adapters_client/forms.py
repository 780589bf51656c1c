"""Forms for questions whose data has a JSON schema, as the console shows them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a_adapters.contract.parts import Data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters.contract.parts import Part

_DEPTH = 9
_WORDS = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}


@dataclass(frozen=True, slots=True)
class Field:
    """A question of a form.

    Attributes:
        name: The property in the answer.
        schema: The JSON schema of its value, without references.
        is_required: Whether it must be answered.
        choices: The possible values by their texts; empty if there is no list of them.
    """

    name: str
    schema: Mapping[str, Any]
    is_required: bool
    choices: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The text that asks for the value."""
        title = str(self.schema.get("title", self.name))
        words = list(self.choices) or (["yes", "no"] if self.kind == "boolean" else [])
        hints = [", ".join(words), "" if self.is_required else "optional"]
        hint = "; ".join(filter(None, hints))
        return f"{title} ({hint}): " if hint else f"{title}: "

    @property
    def kind(self) -> str:
        """The JSON type of the value."""
        return str(self.schema.get("type", "string"))

    @property
    def default(self) -> str:
        """The text of the default."""
        value = self.schema.get("default", "")
        if isinstance(value, bool):
            return "yes" if value else "no"
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def read(self, text: str) -> Any:
        """Return the value of a text; None if an optional one is left out.

        Raises:
            ValueError: The text is not such a value. The message says why.
        """
        text = text.strip()
        if not text:
            if self.is_required:
                raise ValueError("an answer is required")
            return None
        if self.kind == "array":
            return self._list(text)
        if self.choices:
            return self._choice(text)
        return self._within_bounds(self._value(text))

    def _choice(self, text: str) -> Any:
        if text not in self.choices:
            raise ValueError(f"choose one of {', '.join(self.choices)}")
        return self.choices[text]

    def _list(self, text: str) -> list[Any]:
        if text.startswith("["):
            value = _json(text)
            if isinstance(value, list):
                return value
        each = [word.strip() for word in text.split(",")]
        return [self._choice(word) for word in each] if self.choices else each

    def _value(self, text: str) -> Any:
        match self.kind:
            case "integer" | "number":
                try:
                    return int(text) if self.kind == "integer" else float(text)
                except ValueError:
                    article = "a whole number" if self.kind == "integer" else "a number"
                    raise ValueError(f"enter {article}") from None
            case "boolean":
                if text.lower() not in _WORDS:
                    raise ValueError("enter yes or no")
                return _WORDS[text.lower()]
            case "object":
                return _json(text)
            case _:
                return text

    def _within_bounds(self, value: Any) -> Any:
        if isinstance(value, str):
            self._check(len(value), "minLength", "maxLength", " characters")
        elif isinstance(value, int | float):
            self._check(value, "minimum", "maximum", "")
        return value

    def _check(self, size: float, least: str, most: str, unit: str) -> None:
        low, high = self.schema.get(least), self.schema.get(most)
        if isinstance(low, int | float) and size < low:
            raise ValueError(f"enter at least {low}{unit}")
        if isinstance(high, int | float) and size > high:
            raise ValueError(f"enter at most {high}{unit}")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("enter JSON") from None


class Form:
    """The fields of a schema; a schema of another type than object has one."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        root = _resolved(schema, schema)
        self._is_record = isinstance(root.get("properties"), dict)
        properties = root["properties"] if self._is_record else {"answer": root}
        required = root.get("required", []) if self._is_record else ["answer"]
        required = [name for name in required if name in properties]
        # The protocol's objects have no order: required ones come first.
        names = list(dict.fromkeys([*required, *properties]))
        self.fields = [_field(name, properties[name], schema, name in required) for name in names]

    def value(self, answers: Mapping[str, Any]) -> Any:
        """Return the data of an answer; properties left out are None."""
        if not self._is_record:
            return answers["answer"]
        return {name: value for name, value in answers.items() if value is not None}


def is_form(value: object) -> bool:
    """Return whether the data of a question is the schema of a form."""
    return isinstance(value, dict) and isinstance(value.get("response_schema"), dict)


_SAID = ("question", "prompt", "message", "description", "options", "choices", "type")
"""Fields of a question's data that its text and its form already show."""


def shown_data(value: object) -> object | None:
    """Return the data of a question that its text and its form do not show, or None."""
    if not isinstance(value, dict) or "interrupt_id" not in value:
        return None if is_form(value) else value
    inner = value.get("value")
    if not isinstance(inner, dict):
        return None
    said = {*_SAID, "review_configs"}
    actions = inner.get("action_requests")
    if isinstance(actions, list) and all("description" in each for each in actions):
        said.add("action_requests")
    return {name: each for name, each in inner.items() if name not in said} or None


def form_of(parts: Sequence[Part]) -> Form | None:
    """Return the form for a question's `response_schema`; None if it has none."""
    for part in parts:
        if isinstance(part, Data) and isinstance(part.value, dict) and is_form(part.value):
            return Form(part.value["response_schema"])
    return None


def _field(name: str, schema: object, root: Mapping[str, Any], is_required: bool) -> Field:
    own = _resolved(schema, root)
    items = own.get("items") if own.get("type") == "array" else own
    return Field(name, own, is_required, _choices(_resolved(items, root)))


def _choices(schema: Mapping[str, Any]) -> dict[str, Any]:
    match schema:
        case {"enum": [*values]}:
            return {str(value): value for value in values}
        case {"oneOf": [*options]} | {"anyOf": [*options]}:
            if all(isinstance(each, dict) and "const" in each for each in options):
                return {str(each.get("title", each["const"])): each["const"] for each in options}
    return {}


def _resolved(schema: object, root: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return a schema without references, and without the null that makes it optional."""
    found = dict(schema) if isinstance(schema, dict) else {}
    if depth > _DEPTH:
        return found
    if isinstance(found.get("type"), list):
        found["type"] = next((each for each in found["type"] if each != "null"), "string")
    inner = _target(found.get("$ref"), root)
    options = found.get("anyOf")
    if inner is None and isinstance(options, list):
        others = [o for o in options if isinstance(o, dict) and o.get("type") != "null"]
        inner = others[0] if len(others) == 1 else None
    if inner is None:
        return found
    return {**_resolved(inner, root, depth + 1), **found, "anyOf": None}


def _target(reference: object, root: Mapping[str, Any]) -> object | None:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    place: object = root
    for key in reference.removeprefix("#/").split("/"):
        place = place.get(key) if isinstance(place, dict) else None
    return place
