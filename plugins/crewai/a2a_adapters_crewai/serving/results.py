"""From what crewai returns to outputs: structured output as data with its schema, or text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crewai import Crew, CrewOutput, TaskOutput
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.lite_agent_output import LiteAgentOutput
from pydantic import BaseModel

from a2a_adapters import Data, File, Output, Part, Text, without_reasoning

ANSWER = "answer"
"""Name of the artifact with the answer's text."""

Schema = Mapping[str, Any]


def crew_output(result: CrewOutput, crew: Crew) -> Iterator[Output]:
    """Yield a crew's answer, that of its last task."""
    yield from _outputs(result, name="", schema=json_schema(crew))


def task_output(output: TaskOutput) -> Iterator[Output]:
    """Yield the output of one task, named as the task if that has a name of its own."""
    name = output.name if output.name and output.name != output.description else ""
    yield from _outputs(output, name=name or output.agent, schema=None)


def value_output(value: object) -> Iterator[Output]:
    """Yield what a flow or agent returned; nothing for None and the empty text."""
    if isinstance(value, HumanFeedbackResult):
        value = value.output
    if isinstance(value, CrewOutput | LiteAgentOutput | TaskOutput):
        yield from _outputs(value, name="", schema=None)
    elif value is not None:
        part = _part(value)
        if part != Text(""):
            yield Output((part,), name=ANSWER if isinstance(part, Text) else "")


def json_schema(crew: Crew) -> Schema | None:
    """Return the schema of `output_json` of a crew's last task."""
    model = crew.tasks[-1].output_json if crew.tasks else None
    return model.model_json_schema() if model else None


def _outputs(result: Any, *, name: str, schema: Schema | None) -> Iterator[Output]:
    json_dict = getattr(result, "json_dict", None)
    if result.pydantic is not None:
        yield Output((_part(result.pydantic),), name=name)
    elif json_dict is not None:
        yield Output((Data(json_dict, schema=schema),), name=name)
    elif text := without_reasoning(result.raw):
        yield Output((Text(text),), name=name or ANSWER)


def _part(value: object) -> Part:
    match value:
        case str():
            return Text(without_reasoning(value))
        case BaseModel():
            return Data(value, schema=type(value).model_json_schema())
        case Text() | File() | Data():
            return value
    return Data(value)
