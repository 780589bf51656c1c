"""The server for MCP's conformance suite: agents named like its fixtures.

The suite's tools have specific arguments; an agent's tool takes a message, so other
arguments become data for the agent.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_mcp import McpTools
from a2a_adapters_mcp.offering.arguments import ToolArguments

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InputRequired,
    Progress,
    Rejected,
    Text,
    serve,
)


def read(arguments):
    return ToolArguments(data=arguments)


ToolArguments.read = read


def given(request):
    return request.parts[0].value


def image():
    return File(content=b"\x89PNG", media_type="image/png")


def form(name, kind="string"):
    return {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}


def test_simple_text(request: AgentRequest):
    return "This is a simple text response for testing."


def test_image_content(request: AgentRequest):
    return image()


def test_audio_content(request: AgentRequest):
    return File(content=b"RIFF", media_type="audio/wav")


def test_embedded_resource(request: AgentRequest):
    return File(content=b"text", media_type="text/plain", filename="a.txt")


def test_multiple_content_types(request: AgentRequest):
    file = File(content=b"{}", media_type="application/json", filename="a.json")
    return [Text("Multiple content types test:"), image(), file]


def test_error_handling(request: AgentRequest):
    return Rejected("This tool intentionally returns an error for testing")


async def test_tool_with_progress(request: AgentRequest):
    for done in (0, 50, 100):
        yield Progress(f"{done} of 100")
    yield "done"


def asking(question, schema):
    """Return an agent that asks and repeats the answer."""

    async def agent(request: AgentRequest):
        answer = yield InputRequired(question, [Data({"response_schema": schema})])
        yield f"Answered: {answer.parts[0].value}"

    return agent


async def multi_round(request: AgentRequest):
    name = yield InputRequired("Step 1: your name?", [Data({"response_schema": form("name")})])
    color = yield InputRequired("Step 2: a color?", [Data({"response_schema": form("color")})])
    yield f"{name.parts[0].value['name']} likes {color.parts[0].value['color']}"


async def asks_and_works(request: AgentRequest):
    name = yield InputRequired("Your name?", [Data({"response_schema": form("user_name")})])
    await asyncio.sleep(1)
    yield f"Hello, {name.parts[0].value}!"


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
CHOICES = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
NAMES = [f"option{n}" for n in (1, 2, 3)]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": NAMES},
    "titledSingle": {"type": "string", "oneOf": CHOICES},
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": NAMES}},
    "titledMulti": {"type": "array", "items": {"anyOf": CHOICES}},
}


def properties(found):
    return {"type": "object", "properties": found}


def greet(request: AgentRequest):
    return f"Hello, {given(request)['name']}!"


async def slow_compute(request: AgentRequest):
    await asyncio.sleep(float(given(request)["seconds"]))
    yield f"computed {given(request).get('label', '')}"


async def failing_job(request: AgentRequest):
    await asyncio.sleep(1)
    yield Rejected("this job fails")


async def confirm_delete(request: AgentRequest):
    await asyncio.sleep(1)  # so that there is a task, which asks
    schema = form("confirm", "boolean")
    answer = yield InputRequired("Delete it?", [Data({"response_schema": schema})])
    yield f"deleted: {answer.parts[0].value}"


FIXTURES = {
    "confirm_delete": confirm_delete,
    "failing_job": failing_job,
    "greet": greet,
    "slow_compute": slow_compute,
    "test_audio_content": test_audio_content,
    "test_elicitation": asking("Please answer", form("response")),
    "test_elicitation_sep1034_defaults": asking("Who?", properties(DEFAULTS)),
    "test_elicitation_sep1330_enums": asking("Which?", properties(ENUMS)),
    "test_embedded_resource": test_embedded_resource,
    "test_error_handling": test_error_handling,
    "test_image_content": test_image_content,
    "test_input_required_result_elicitation": asking("What is your name?", form("name")),
    "test_input_required_result_multi_round": multi_round,
    "test_input_required_result_request_state": asking("Confirm?", form("ok", "boolean")),
    "test_input_required_result_tampered_state": asking("Confirm?", form("ok", "boolean")),
    "test_logging_tool": test_simple_text,
    "test_multiple_content_types": test_multiple_content_types,
    "test_simple_text": test_simple_text,
    "test_streaming_elicitation": asking("Please answer", form("response")),
    "test_tool_with_progress": test_tool_with_progress,
    "test_tool_with_task": asks_and_works,
}

if __name__ == "__main__":
    serve(FIXTURES, port=0, dialects=[McpTools(task_after_seconds=0.3)])
