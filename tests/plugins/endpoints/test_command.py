"""Commands as agents."""

from __future__ import annotations

import os
import sys

import pytest
from a2a.types import CancelTaskRequest, TaskState
from a2a_adapters_endpoints import CommandAgent

from a2a_adapters import ConfigurationError, build_app
from a2a_adapters.plugin import installed_plugins
from a2a_adapters.testing import AdapterContract, answer_of, connect, running, send, user_message

SCRIPT = r"""
import json, os, sys, time
mode, text = sys.argv[1], sys.stdin.read()
if mode == "echo":
    for piece in text.split(" "):
        print(piece, end="" if text.endswith(piece) else " ", flush=True)
elif mode in ("failing", "midway"):
    print("begun" if mode == "midway" else "", end="", flush=True)
    print("hunter2", file=sys.stderr)
    sys.exit(3)
elif mode == "endless":
    print(os.getpid(), flush=True)
    time.sleep(600)
elif mode == "flood":
    while True:
        print("x" * 100_000)
elif mode == "lines":
    for line in ({"text": "one "}, {"progress": "half"}, {"data": {"n": 1}}, {"text": "two"}):
        print(json.dumps(line), flush=True)
elif mode == "separators":
    sys.stdout.buffer.write('{"text": "a\u2028b\x85c"}'.encode())
elif mode == "env":
    print(sorted(os.environ))
elif mode == "split":
    sys.stdout.buffer.write("ä".encode()[:1]); sys.stdout.flush(); time.sleep(0.05)
    sys.stdout.buffer.write("ä".encode()[1:])
"""


def script(mode, **options):
    return CommandAgent([sys.executable, "-I", "-S", "-c", SCRIPT, mode], **options)


class TestCommandAgent(AdapterContract):
    def echo(self):
        return script("echo")

    def silent(self):
        return script("silent")

    def failing(self):
        return script("failing")

    def failing_midway(self):
        return script("midway")

    def endless(self):
        return script("endless")


async def answer(agent, text):
    async with running(build_app(agent)) as url, connect(url) as client:
        return await send(client, user_message(text))


async def test_a_text_is_one_argument_whatever_it_contains():
    task = await answer(CommandAgent("printf '<%s>' {text}"), "two words; $(id) 'quote")
    assert answer_of(task) == "<two words; $(id) 'quote>"


async def test_a_text_cannot_be_an_option():
    with pytest.raises(Exception, match="must not begin with '-'"):
        await answer(CommandAgent("printf %s {text}"), "-v secret")


async def test_lines_of_json():
    task = await answer(script("lines", json_lines=True), "go")
    before, data, after = (part for each in task.artifacts for part in each.parts)
    assert (before.text, after.text) == ("one ", "two")
    assert data.data.struct_value["n"] == 1


async def test_only_newlines_end_lines():
    assert answer_of(await answer(script("separators", json_lines=True), "go")) == "a\u2028b\x85c"


async def test_a_line_that_is_no_json_fails():
    task = await answer(script("echo", json_lines=True), "go")
    assert "not JSON" in task.status.message.parts[0].text


@pytest.mark.parametrize(
    ("agent", "hint"),
    [
        (script("failing"), "exit code 3"),
        (script("endless", seconds=0.5), "over 0.5 s"),
        (script("flood", output_bytes=1_000_000), "wrote too much"),
    ],
)
async def test_failures_say_what_happened(agent, hint):
    task = await answer(agent, "go")
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert hint in task.status.message.parts[0].text


async def test_a_cancelled_command_is_killed():
    async with running(build_app(script("endless"))) as url, connect(url) as client:
        async for event in client.send_message(user_message("go")):
            if event.HasField("task"):
                task_id = event.task.id
            if event.HasField("artifact_update"):
                pid = event.artifact_update.artifact.parts[0].text.strip()
                break
        await client.cancel_task(CancelTaskRequest(id=task_id))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


async def test_the_command_gets_few_variables(monkeypatch):
    monkeypatch.setenv("A_SECRET", "hunter2")
    monkeypatch.setenv("PASSED_ON", "yes")
    said = answer_of(await answer(script("env", pass_env=["PASSED_ON"]), "go"))
    assert "A_SECRET" not in said
    assert "PASSED_ON" in said


async def test_characters_are_not_cut():
    assert answer_of(await answer(script("split"), "go")) == "ä"


async def test_a_shell_reads_the_text_from_standard_input():
    agent = installed_plugins().target("exec:--shell 'cat | tr a-z A-Z'")
    assert answer_of(await answer(agent, "hello; exit 1")) == "HELLO; EXIT 1"


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("", "needs a command"),
        ("nobody-has-this", "no program 'nobody-has-this'"),
        ("--shell echo {text}", "read standard input"),
        ("--cwd /nowhere cat", "no folder /nowhere"),
        ("'", "is no command"),
        ("--wrong cat", "serve 'exec:--help'"),
        *((f"--seconds {n} cat", f"greater than 0, not {n}") for n in ("0.0", "-1.0", "nan")),
        ("--seconds inf cat", "seconds must be finite"),
    ],
)
def test_wrong_words_say_what_to_do(word, hint):
    with pytest.raises(ConfigurationError, match=hint):
        CommandAgent.of_word(word)
