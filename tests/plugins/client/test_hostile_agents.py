"""Agents can neither control the terminal nor inject into suggested commands."""

from __future__ import annotations

import ast
import json
import shlex
from contextlib import asynccontextmanager
from itertools import chain
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters.testing import running

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]

ODD = "\x1b[2J\x1b]52;c;eHh4\x07\u202e\u2066\x9b31m\r\nhint: forged\x00\U000e0041"
SHELL = "t$(touch x);id"


def served(text, state="TASK_STATE_COMPLETED", error=None):
    """Return an agent that sends `text` in every field."""

    def task():
        message = {
            "messageId": text,
            "role": "ROLE_AGENT",
            "parts": parts,
            "metadata": {text: text},
        }
        return {
            "id": text,
            "contextId": text,
            "status": {"state": state, "message": message},
            "artifacts": [{"artifactId": text, "name": text, "parts": parts}],
            "history": [message],
            "metadata": {text: text},
        }

    parts = [
        {"text": text, "mediaType": text, "metadata": {text: text}},
        {"data": {text: text}},
        {"raw": "MTI=", "filename": text, "mediaType": text},
        {"url": f"http://x/{text}", "filename": text},
    ]

    async def card(request):
        skill = {"id": text, "name": text, "description": text, "tags": [text], "examples": [text]}
        interface = {"url": str(request.base_url), "protocolBinding": "JSONRPC"}
        schemes = {text: {"httpAuthSecurityScheme": {"scheme": text}}}
        return JSONResponse(
            {
                "name": text,
                "description": text,
                "version": text,
                "provider": {"organization": text, "url": text},
                "supportedInterfaces": [interface | {"protocolVersion": "1.0"}],
                "capabilities": {"extendedAgentCard": True, "pushNotifications": True},
                "defaultInputModes": [text],
                "defaultOutputModes": [text],
                "skills": [skill],
                "securitySchemes": schemes,
                "securityRequirements": [{"schemes": {text: {"list": [text]}}}],
            }
        )

    async def call(request):
        body = await request.json()
        if error is not None:
            answer = {"error": {"code": error, "message": text, "data": [{text: text}]}}
        else:
            results = {
                "SendMessage": {"task": task()},
                "ListTasks": {"tasks": [task()], "nextPageToken": text},
                "ListTaskPushNotificationConfigs": {
                    "configs": [{"taskId": text, "id": text, "url": text}]
                },
                "GetExtendedAgentCard": json.loads((await card(request)).body),
            }
            answer = {"result": results.get(body["method"], task())}
        return JSONResponse({"jsonrpc": "2.0", "id": body["id"]} | answer)

    card_path = "/.well-known/agent-card.json"
    return Starlette(routes=[Route(card_path, card), Route("/", call, methods=["POST"])])


@asynccontextmanager
async def agent(*args, **kwargs):
    async with running(served(*args, **kwargs)) as url:
        yield url


COMMANDS = [
    "send URL hello --verbose",
    "send URL hello --stream --verbose --debug",
    "send URL hello --async -o json",
    "task get URL x --history 3 --verbose",
    "task list URL --verbose",
    "task cancel URL x --debug",
    "task subscribe URL x",
    "task download URL x",
    "task push-config list URL x",
    "card get URL --verbose",
    "card get URL --extended",
    "discover URL",
    "chat URL",
    "send URL hello -q --save files",
    "check URL --send",
    "check URL --output json",
    "check URL --output junit",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("error", [None, -32000])
async def test_no_command_lets_an_agent_control_the_terminal(run, command, error):
    async with agent(ODD, "TASK_STATE_INPUT_REQUIRED", error) as url:
        done = await run(*command.replace("URL", url).split(), text="hello\n/task\n")
    shown = done.stdout + done.stderr
    assert shown
    assert "Traceback" not in shown or "--debug" in command
    assert {c for c in shown if not c.isprintable()} <= {"\n", "\t"}
    assert not any(line.startswith("hint: forged") for line in done.stderr.splitlines())


@pytest.mark.parametrize("task_id", [SHELL, "two words", "--insecure", "-x", "'"])
async def test_suggested_commands_quote_task_ids(run, task_id):
    async with agent(task_id, "TASK_STATE_INPUT_REQUIRED") as url:
        asked = await run("send", url, "hello")
    [line] = [line for line in asked.stderr.splitlines() if line.startswith("answer: ")]
    words = shlex.split(line.removeprefix("answer: "))
    assert words == ["a2a-adapters", "send", "--task-id", task_id, "-a", url, "..."]


@pytest.mark.parametrize("task_id", [SHELL, "--insecure"])
async def test_suggestions_after_a_timeout_quote_task_ids(run, task_id):
    async with agent(task_id, "TASK_STATE_WORKING") as url:
        done = await run("send", url, "hello", "--timeout", "5s")
    [hint] = [line for line in done.stderr.splitlines() if line.startswith("hint: ")]
    words = shlex.split(hint.removeprefix("hint: "))
    assert words[:3] == ["a2a-adapters", "task", "get"]
    assert words[-2:] == ["--", task_id] or words[3] == task_id == SHELL


async def test_text_in_all_languages_is_shown_unchanged(run):
    text = "Très\u00a0bien, 東京\u3000👩\u200d🚀 \u0645\u06cc\u200c\u062e"
    async with agent(text) as url:
        done = await run("send", url, "hello", "--verbose")
    assert f"Text:\n{text}\n" in done.stdout


async def test_all_text_goes_through_one_function():
    root = Path(__file__).parents[3]
    folders = (root / "a2a_adapters" / "cli", root / "plugins" / "client")
    for file in chain.from_iterable(folder.rglob("*.py") for folder in folders):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and file.name != "terminal.py":
                called = ast.unparse(node.func)
                assert called not in {"typer.echo", "typer.secho", "print"}, file
