"""`a2a-adapters call`, run as a user runs it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys

import pytest

from a2a_adapters import AgentRequest, File, InputRequired, Rejected, ToolCall, build_app
from a2a_adapters.testing import running
from tests.support.servers.guarded import api_key
from tests.support.warm import warm

NOTICE = "`call` is deprecated and will be removed in the next release; use `send`\n"
pytestmark = pytest.mark.timeout(5 * 60)


async def weather(request: AgentRequest):
    """Report the weather."""
    yield ToolCall("1", "look", {"at": "the sky"})
    if "refuse" in request.text:
        yield Rejected("Not today\x1b[2J.")
        return
    place = request.text or str(len(request.parts))
    if "ask" in request.text:
        place = (yield InputRequired("Where?")).text
    yield "It rains "
    yield f"in {place}\x1b[2J."
    if "draw" in request.text:
        yield File(content=b"12", media_type="image/png", filename="../../../sky.png")
        yield File(content=b"34", media_type="image/png", filename="../../../sky.png")
        yield {"degrees": 8}


@pytest.fixture
async def url():
    async with running(build_app(weather)) as address:
        yield address


def command(*arguments):
    return warm("-m", "a2a_adapters", "call", *map(str, arguments))


async def call(*arguments, text=None):
    def run():
        done = subprocess.run(
            command(*arguments), input=text or "", capture_output=True, text=True, check=False
        )
        assert done.stderr.startswith(NOTICE)
        done.stderr = done.stderr.removeprefix(NOTICE)
        return done

    return await asyncio.to_thread(run)


@pytest.mark.parametrize("how", ["--stream", "--no-stream"])
async def test_the_answer_is_printed(url, how):
    done = await call(url, "Rome", how)
    assert (done.returncode, done.stdout) == (0, "It rains in Rome\\x1b[2J.\n")
    assert 'look {"at": "the sky"}' in done.stderr


async def test_text_from_standard_input(url):
    assert (await call(url, "-", text="Oslo")).stdout == "It rains in Oslo\\x1b[2J.\n"
    assert (await call(url, text="Oslo")).stdout == "It rains in Oslo\\x1b[2J.\n"


async def test_an_address_of_this_machine_needs_no_scheme(url):
    for address in (url.removeprefix("http://"), url.replace("http://127.0.0.1", "localhost")):
        assert (await call(address, "Rome")).stdout == "It rains in Rome\\x1b[2J.\n"


@pytest.mark.parametrize("how", ["--stream", "--no-stream", "--json"])
async def test_a_failure_is_reported_once(url, how):
    async def fails(text: str):
        raise RuntimeError("secret")

    async with running(build_app(fails)) as broken:
        done = await call(broken, "x", how)
    assert done.stdout == ""
    assert done.stderr.count("The agent failed") == 1
    assert (await call(url, "refuse", how)).stderr.count("Not today") == 1


async def test_a_failure_within_the_answer_begins_a_line():
    async def fails(text: str):
        yield "half"
        raise RuntimeError("secret")

    async with running(build_app(fails)) as broken:
        done = await call(broken, "x")
    assert done.stdout == "half\n"
    assert done.stderr.startswith("a2a-adapters: the agent's task failed: ")


async def test_a_server_with_several_agents_names_them():
    async with running(build_app({"rain": weather, "sun": weather})) as url:
        done = await call(url, "Rome")
        assert (await call(f"{url}/agents/sun", "Rome")).returncode == 0
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        f"a2a-adapters: there are several agents at {url}",
        "hint: name one of them:",
        f"  {url}#rain  Report the weather.",
        f"  {url}#sun  Report the weather.",
    ]


async def test_files_and_data_are_sent_and_received(url, tmp_path):
    photo = tmp_path / "photo.png"
    photo.write_bytes(b"\x89PNG")
    done = await call(url, "--file", photo, "--data", '{"a": 1}', "--data", "[2]")
    assert "It rains in 3" in done.stdout
    folder = tmp_path / "saved"
    done = await call(url, "draw", "--save", folder)
    assert '"degrees": 8' in done.stdout
    assert "[file: ../../../sky.png, 2 bytes]" in done.stdout
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "sky.png": b"12",
        "sky-2.png": b"34",
    }


async def test_json(url):
    answer = json.loads((await call(url, "draw", "--json")).stdout)
    assert answer["state"] == "completed"
    assert answer["text"] == "It rains in draw\x1b[2J."
    assert answer["data"] == [{"degrees": 8}]
    assert answer["task_id"]


async def test_a_question_without_a_terminal_hints_at_the_answer(url):
    asked = await call(url, "ask me")
    assert (asked.returncode, asked.stdout) == (0, "Where?\n")
    hint = asked.stderr.split("call again with ")[1].split()
    answered = await call(url, "Bergen", *hint)
    assert (answered.returncode, answered.stdout) == (0, "It rains in Bergen\\x1b[2J.\n")


async def test_a_question_is_asked_in_the_terminal(url):
    def run():
        leader, follower = pty.openpty()
        with subprocess.Popen(
            command(url, "ask me"), stdin=follower, stdout=subprocess.PIPE, text=True
        ) as process:
            os.write(leader, b"Bergen\n")
            output, _ = process.communicate()
        os.close(leader)
        os.close(follower)
        return process.returncode, output

    returncode, output = await asyncio.to_thread(run)
    assert returncode == 0
    assert output.startswith("Where?\n")
    assert "It rains in Bergen" in output


@pytest.mark.parametrize(
    ("arguments", "code", "remedy"),
    [
        (["{url}"], 2, "nothing to send"),
        (["{url}", "x", "--data", "{"], 2, "neither a file nor JSON"),
        (["{url}", "--data", "[" * 60 + "]" * 60], 2, "nested too deeply"),
        (["{url}", "--data", "[" * 9999 + "]" * 9999], 2, "nested too deeply"),
        (["{url}", "\udcff"], 2, "unpaired surrogates"),
        (["{url}", "draw", "--save", "/dev/null"], 2, "/dev/null is not a folder"),
        (["http://127.0.0.1:99999", "x"], 2, "is not of the form"),
        (["http://xn--a/", "x"], 2, "is not a URL"),
        (["{url}", "x", "--file", "nowhere.png"], 2, "cannot be read"),
        (["{url}", "x", "--header", "secret"], 2, "'Name: value'"),
        (["http://127.0.0.1:9", "x"], 3, "cannot be reached"),
        (["{url}", "refuse"], 1, "rejected the task: Not today [2J."),
        (["{url}", "x", "--task", "unknown"], 1, "refused"),
    ],
)
async def test_an_error_is_one_line(url, arguments, code, remedy):
    done = await call(*(argument.replace("{url}", url) for argument in arguments))
    assert done.returncode == code
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("·")]
    assert remedy in line
    assert "\x1b" not in line


async def test_headers_are_credentials():
    async with running(api_key("s3cret")) as url:
        assert (await call(url, "ping", "--header", "X-API-Key: s3cret")).stdout == "pong: ping\n"
        refused = await call(url, "ping")
    assert refused.returncode == 4
    assert "wants credentials" in refused.stderr


async def test_ctrl_c_cancels_the_task():
    cancelled = asyncio.Event()

    async def endless(text: str):
        try:
            while True:
                yield "more "
                await asyncio.sleep(0.01)
        finally:
            cancelled.set()

    async with running(build_app(endless)) as url:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "a2a_adapters", "call", url, "go"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert await process.stdout.readexactly(5) == b"more "
        process.send_signal(signal.SIGINT)
        await process.communicate()
        await cancelled.wait()
    assert process.returncode not in (0, None)
