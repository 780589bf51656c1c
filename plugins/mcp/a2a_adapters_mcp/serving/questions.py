"""Passes questions of an MCP server to the agent's caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp.types import ElicitRequestURLParams, ElicitResult
from pydantic import ValidationError

from a2a_adapters import AgentRequest, AuthRequired, Data, InputRequired
from a2a_adapters_mcp.serving.shown import properties_of, required_of, text_of

if TYPE_CHECKING:
    from mcp.types import ElicitRequestParams

    from a2a_adapters_mcp.serving.connection import Asked

_ACTIONS = {"accept", "decline", "cancel"}
_TRUE, _FALSE = {"yes", "y", "true", "ok"}, {"no", "n", "false"}


class UnclearAnswerError(Exception):
    """An answer is invalid; the text states the expected format."""


def question(params: ElicitRequestParams, hint: str = "") -> InputRequired:
    """Return the question; `hint` explains the error in a previous answer."""
    message = text_of(params.message)
    prompt = f"{hint}\n\n{message}" if hint else message
    if isinstance(params, ElicitRequestURLParams):
        page = {"url": params.url, "elicitation_id": params.elicitationId}
        return AuthRequired(prompt, [Data(page)])
    return InputRequired(prompt, [Data({"response_schema": _schema(params)})])


def give(asked: Asked, answer: AgentRequest | None) -> str:
    """Pass an answer to the server; return its error, "" if it is valid."""
    if answer is None:
        return "Please answer."
    try:
        asked.answer.set_result(_result(asked.params, answer))
    except UnclearAnswerError as error:
        return str(error)
    return ""


def _result(params: ElicitRequestParams, answer: AgentRequest) -> ElicitResult:
    """Return the answer in the server's format.

    Raises:
        UnclearAnswerError: The answer is invalid.
    """
    data = next((part.value for part in answer.parts if isinstance(part, Data)), None)
    if isinstance(data, Mapping) and data.get("action") in _ACTIONS:
        return _valid(data)
    if isinstance(params, ElicitRequestURLParams):
        return ElicitResult(action="accept")
    properties = properties_of(_schema(params))
    if isinstance(data, Mapping):
        return _valid({"action": "accept", "content": data})
    if not properties:
        return ElicitResult(action="accept", content={})
    needed = required_of(_schema(params)) or list(properties)
    if len(needed) != 1 or not answer.text:
        raise UnclearAnswerError(f"Please answer with data that has {', '.join(properties)}.")
    value = _value(answer.text.strip(), properties.get(needed[0], {}))
    return ElicitResult(action="accept", content={needed[0]: value})


def _valid(value: Mapping[str, Any]) -> ElicitResult:
    try:
        return ElicitResult.model_validate(value)
    except ValidationError as error:
        raise UnclearAnswerError("Please answer with simple values only.") from error


def _schema(params: ElicitRequestParams) -> Mapping[str, Any]:
    asked = params.model_dump(by_alias=True, exclude_none=True)
    schema: Mapping[str, Any] = asked.get("requestedSchema", {})
    return schema


def _value(text: str, schema: Mapping[str, Any]) -> str | float | bool:
    """Parse a text as the value of a field."""
    choices = schema.get("enum")
    if choices and text not in choices:
        raise UnclearAnswerError(f"Please answer with one of {', '.join(map(str, choices))}.")
    try:
        match schema.get("type"):
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "boolean":
                return _truth(text.lower())
    except ValueError as error:
        raise UnclearAnswerError(f"Please answer with a {schema['type']}.") from error
    return text


def _truth(text: str) -> bool:
    if text in _TRUE | _FALSE:
        return text in _TRUE
    raise ValueError(text)
