"""Answers of agents as values that conform to a schema."""

from __future__ import annotations

import json
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import SchemaError, best_match  # type: ignore[import-untyped]
from langchain_core.exceptions import OutputParserException
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.runnables import Runnable, RunnableLambda, RunnableMap, RunnablePassthrough
from langchain_core.utils.function_calling import convert_to_json_schema
from langchain_core.utils.json import parse_json_markdown
from langchain_core.utils.pydantic import is_basemodel_subclass

from a2a_adapters import ConfigurationError, Text

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

    from a2a_adapters import AgentReply, RemoteAgent
    from a2a_adapters_langchain.calling.model import Call

FAULT = "output_error"
"""Key in `response_metadata`: why an answer does not conform to the schema."""

_DATA, _TEXT = "application/json", "text/plain"
_ASK = "Answer with JSON that conforms to this JSON schema, and with nothing else:\n{}"
_ASK_AGAIN = "Your answer does not conform: {}\n" + _ASK


class Structured:
    """The schema of a call's answer.

    Args:
        response_format: The argument of the call, as in OpenAI's API, or a schema alone.

    Raises:
        ConfigurationError: It is neither.
    """

    def __init__(self, response_format: Any) -> None:
        try:
            self.schema = _schema(response_format)
            Draft202012Validator.check_schema(self.schema)
        except (SchemaError, ValueError) as error:
            reason = getattr(error, "message", error)
            raise ConfigurationError(f"response_format is not a schema: {reason}") from error
        self._validator = Draft202012Validator(self.schema)

    async def ask(self, agent: RemoteAgent, call: Call) -> AgentReply:
        """Return the answer to a call as JSON text, or unchanged if it does not conform.

        An agent that declares data as its first output is not told the schema at first. Any agent
        is asked once more if its answer does not conform.
        """
        conversation, message, options = call
        parts = [Text(message)] if isinstance(message, str) else list(message)  # type: ignore[arg-type]
        modes = (await agent.describe()).output_modes
        if not modes or modes[0] != _DATA:
            parts.append(Text(self._text(_ASK)))
        reply = await conversation.send(parts, **options)
        if not reply.is_question and self.fault(reply):
            again = Text(self._text(_ASK_AGAIN, self.fault(reply)))
            options["task_id"] = ""
            reply = await conversation.send(again, **options)
        if self.fault(reply):
            return reply
        text = json.dumps(self._value(reply), ensure_ascii=False)
        return replace(reply, text=text, parts=[Text(text), *reply.files])

    def fault(self, reply: AgentReply) -> str:
        """Return why an answer does not conform, or ""."""
        if reply.is_question:
            return f"the agent asks: {reply.question}"
        try:
            self._value(reply)
        except ValueError as error:
            return str(error)
        return ""

    def _value(self, reply: AgentReply) -> Any:
        """Return the first data that conforms, or the JSON of the text.

        Raises:
            ValueError: Neither conforms.
        """
        for value in reply.data:
            if self._validator.is_valid(value):
                return value
        value = reply.data[0] if reply.data else parse_json_markdown(reply.text, parser=json.loads)
        if (wrong := best_match(self._validator.iter_errors(value))) is not None:
            raise ValueError(f"{wrong.json_path}: {wrong.message}")
        return value

    def _text(self, template: str, *values: str) -> str:
        return template.format(*values, json.dumps(self.schema, ensure_ascii=False))


def _schema(response_format: Any) -> dict[str, Any]:
    match response_format:
        case {"type": "json_object"}:
            return {}
        case {"type": "json_schema", "json_schema": {"schema": dict(schema)}}:
            return schema
        case _:
            return convert_to_json_schema(response_format)


def structured_output(
    model: Runnable[Any, AIMessage], schema: Any, *, include_raw: bool
) -> Runnable[Any, Any]:
    """Return a runnable that parses the answers of a model, whose calls have a schema.

    Args:
        model: The model, with the argument `response_format`.
        schema: The schema, as `with_structured_output` takes it.
        include_raw: Whether the result is a dict with the message, its value and the error.
    """
    is_class = isinstance(schema, type) and is_basemodel_subclass(schema)
    parser = PydanticOutputParser(pydantic_object=schema) if is_class else JsonOutputParser()
    parsed: Runnable[Any, Any] = RunnableLambda(_checked) | parser
    if not include_raw:
        return model | parsed
    found = RunnablePassthrough.assign(
        parsed=itemgetter("raw") | parsed, parsing_error=lambda _: None
    )
    none = RunnablePassthrough.assign(parsed=lambda _: None)
    return RunnableMap(raw=model) | found.with_fallbacks([none], exception_key="parsing_error")


def _checked(message: AIMessage) -> AIMessage:
    if fault := message.response_metadata.get(FAULT):
        raise OutputParserException(
            f"the agent's answer does not conform to the schema: {fault}", llm_output=message.text
        )
    return message
