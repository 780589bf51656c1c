"""`a2a-adapters chat`, in a terminal and with piped input."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import signal
import subprocess
from contextlib import contextmanager

import pytest

from a2a_adapters import AgentRequest, Data, File, InputRequired, build_app
from a2a_adapters.plugin import AnswerText
from a2a_adapters.testing import running
from tests.support.processes import PATIENCE
from tests.support.servers.guarded import api_key
from tests.support.warm import completed, warm

pytestmark = pytest.mark.timeout(5 * 60)

CONTROL = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|[=>])|[\r\x07]")


SCHEMA = {
    "type": "object",
    "required": ["place", "nights"],
    "properties": {
        "breakfast": {"type": "boolean", "default": True},
        "nights": {"$ref": "#/$defs/Nights"},
        "place": {"enum": ["Rome", "Oslo"], "title": "Where to"},
        "note": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
        "guests": {"type": "array", "items": {"type": "string"}},
    },
    "$defs": {"Nights": {"type": "integer", "minimum": 1, "maximum": 14}},
}


async def waiter(request: AgentRequest):
    """Bring something to drink."""
    if "count" in request.text:
        yield f"{len(request.history)} before, {len(request.parts)} parts"
        return
    if "fail" in request.text:
        raise RuntimeError("secret")
    if "draw" in request.text:
        yield File(content=b"12", media_type="image/png", filename="sky.png")
        return
    if "colour" in request.text:  # as a graph of LangGraph asks
        value = {"question": "Which colour?", "options": ["red", "green"]}
        asked = {
            "interrupt_id": "i1",
            "value": value,
            "response_schema": {"enum": ["red", "green"]},
        }
        answer = yield InputRequired("Which colour?", [Data(asked)])
        yield f"You chose {answer.data[0]}."
        return
    if "form" in request.text:
        answer = yield InputRequired("Tell me more.", [Data({"response_schema": SCHEMA})])
        data = [part.value for part in answer.parts if isinstance(part, Data)]
        yield repr(data or answer.text)
        return
    if "correct" in request.text:
        yield (text := "One raw.\n\nTwo" if "all" in request.text else "A raw answer.")
        yield AnswerText(text.replace("raw", "checked"))
        return
    if "\n" in request.text:
        yield f"{request.text.count(chr(10)) + 1} lines"
        return
    drinks = {"type": "string", "enum": ["tea", "coffee"]}
    answer = yield InputRequired("What?", [Data({"properties": {"drink": drinks}})])
    yield f"Here is **{answer.text}**.\n\n"
    yield "```\nx = [1]\n\ny = [2]\n```"


@pytest.fixture
async def url():
    async with running(build_app(waiter)) as address:
        yield address


def chat(*arguments):
    return warm("-m", "a2a_adapters", "chat", *map(str, arguments))


async def typed(*lines, arguments):
    """Return the output for piped lines."""
    text = "".join(f"{line}\n" for line in lines)
    return await asyncio.to_thread(completed, "chat", *arguments, text=text)


class Terminal:
    """A pseudoterminal to type in and read from."""

    def __init__(self, leader, process):
        self._leader = leader
        self.process = process
        self.seen = self.raw = ""

    def type(self, text):
        os.write(self._leader, text.encode())

    def see(self, text):
        """Read until a text appears; return everything read."""
        while text not in self.seen:
            assert select.select([self._leader], [], [], PATIENCE)[0], self.seen
            read = os.read(self._leader, 65536).decode()
            self.raw += read
            self.seen += CONTROL.sub("", read)
        before, _, self.seen = self.seen.partition(text)
        return before


@contextmanager
def terminal(*arguments, **variables):
    leader, follower = pty.openpty()
    settings = {"PROMPT_TOOLKIT_NO_CPR": "1", "TERM": "xterm", "COLUMNS": "80"}
    environment = os.environ | settings | variables
    with subprocess.Popen(
        chat(*arguments),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            yield Terminal(leader, process)
        finally:
            process.kill()
            os.close(leader)
            os.close(follower)


async def test_a_conversation_has_turns_and_questions(url):
    done = await typed("count", "", "serve me", "/task", "tea", "count", arguments=[url])
    assert done.returncode == 0
    first, *_, last = done.stdout.splitlines()
    assert (first, last) == ("0 before, 1 parts", "6 before, 1 parts")
    assert "What?\n" in done.stdout
    assert " is waiting for input\n" in done.stdout
    assert "Here is **tea**.\n" in done.stdout


async def test_commands(url, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a")
    lines = [
        "count",
        f"/file {file}",
        "count",
        "/new",
        "/task",
        "count",
        "//count",
        "/raw",
        "count",
    ]
    done = await typed(*lines, "count", "/help", "/quit", "never said", arguments=[url])
    printed = done.stdout.splitlines()
    assert printed[:4] == [
        "0 before, 1 parts",
        "attached to the next message",
        "2 before, 2 parts",
        "conversation not started",
    ]
    assert printed[4:7] == ["no task is waiting", "0 before, 1 parts", "2 before, 1 parts"]
    assert '  "text": "4 before, 1 parts",' in printed
    assert printed[-1] == "Alt-Enter starts a new line. Ctrl-C interrupts an answer."


async def test_messages_are_sent_again_and_files_are_saved_later(url, tmp_path):
    folder = tmp_path / "files"
    lines = ["/retry", "/save", "count", "/retry", "draw", f"/save {folder}", "/card"]
    done = await typed(*lines, arguments=[url])
    printed = done.stdout.splitlines()
    assert printed[:2] == ["there is no message to send again", "the last answer has no files"]
    assert printed[2:4] == ["0 before, 1 parts", "2 before, 1 parts"]
    assert "Name: waiter" in printed
    named, saved = done.stderr.splitlines()
    assert named == "file sky.png, image/png, 2 bytes"
    assert saved == f"saved {folder}/sky.png"


async def test_a_waiting_task_is_cancelled(url):
    done = await typed("/cancel", "serve me", "/cancel", "/task", arguments=[url])
    printed = done.stdout.splitlines()
    assert printed[0] == "no task is waiting"
    assert printed[-3] == "cancelled"
    assert printed[-1] == "no task is waiting"


async def test_errors_do_not_end_the_conversation(url):
    lines = ["fail", "/file nowhere", "/file ~nobody-here/x", "/nonsense", "count"]
    done = await typed(*lines, arguments=[url])
    assert done.stdout == "0 before, 1 parts\n"
    assert done.returncode == 2
    failed, unread, unnamed, unknown = done.stderr.splitlines()
    assert "unknown user" in unnamed
    assert "task failed" in failed
    assert "nowhere cannot be read" in unread
    assert unknown == "unknown command /nonsense; type /help for commands"
    assert "secret" not in done.stderr


async def test_headers_are_credentials():
    async with running(api_key("s3cret")) as url:
        done = await typed("ping", arguments=[url, "--header", "X-API-Key: s3cret"])
        assert done.stdout == "pong: ping\n"


async def test_a_target_is_served_for_the_conversation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text("def loud(text: str):\n    return text.upper()\n")
    done = await typed("hello", arguments=["app:loud"])
    assert (done.stdout, done.stderr) == ("HELLO\n", "")
    wrong = await typed("hello", arguments=["app:nothing"])
    assert wrong.returncode == 2
    (tmp_path / "late.py").write_text("async def made():\n    raise OSError('no database')\n")
    late = await typed("hello", arguments=["late:made"])
    assert (late.returncode, "no database" in late.stderr) == (2, True)
    assert "Traceback" not in late.stderr
    away = await typed("hello", arguments=["http://127.0.0.1:9"])
    assert away.returncode == 3


async def test_data_cannot_control_the_terminal():
    async def steers(text: str):
        yield {"word": "\x9b2Jclear\u202e"}

    async with running(build_app(steers)) as address:
        done = await typed("go", "/raw", "go", arguments=[address])
    assert done.stdout.count('"word": "\\u009b2Jclear\\u202e"') == 3


async def test_a_terminal_shows_markdown_and_completes_choices(url):
    def use():
        with terminal(url) as person:
            person.see(">")
            person.type("serve me\r")
            person.see("What?")
            person.see(">")
            person.type("te")
            person.see("tea")  # below the typed line
            person.type("\t\r")
            shown = person.see("y = [2]")
            assert "Here is tea." in shown
            assert "x = [1]" in shown
            assert "```" not in shown
            person.see(">")
            person.type("\x04")
            return person.process.wait(PATIENCE)

    assert await asyncio.to_thread(use) == 0


@pytest.mark.parametrize(("no_color", "is_red"), [("", True), ("1", False)])
async def test_colors_can_be_turned_off(url, no_color, is_red):
    def use():
        with terminal(url, NO_COLOR=no_color) as person:
            greeting = person.see(">")
            person.type("/file nowhere\r")
            person.see("cannot be read")
            return greeting, person.raw

    greeting, raw = await asyncio.to_thread(use)
    assert "waiter: Bring something to drink." in greeting
    assert ("\x1b[31m" in raw) == is_red


async def test_ctrl_c_interrupts_the_answer_not_the_conversation():
    stopped = asyncio.Event()

    async def endless(text: str):
        if text == "end":
            yield "the end"
            return
        try:
            while True:
                yield "more "
                await asyncio.sleep(0.01)
        finally:
            stopped.set()

    def use(url):
        with terminal(url) as person:
            person.see(">")
            person.type("go\r")
            person.see("more more")
            person.process.send_signal(signal.SIGINT)
            person.see("stopped")
            person.see(">")
            person.type("end\r")
            person.see("the end")
            person.see(">")
            person.type("\x04")
            return person.process.wait(PATIENCE)

    async with running(build_app(endless)) as url:
        assert await asyncio.to_thread(use, url) == 0
        await stopped.wait()


async def test_options_of_a_graph_are_a_choice(url):
    def use():
        with terminal(url) as person:
            person.see(">")
            person.type("a colour\r")
            shown = person.see("(red, green):")
            person.type("green\r")
            person.see("You chose green.")
            return shown

    shown = await asyncio.to_thread(use)
    assert "Which colour?" in shown
    assert "interrupt_id" not in shown
    assert "options" not in shown


@pytest.fixture
def settings(tmp_path):
    """Return the variables of a user with settings of their own."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "settings")}


async def test_questions_with_a_schema_are_forms(url, settings):
    def use():
        with terminal(url, **settings) as person:
            person.see(">")
            person.type("form\r")
            person.see("Where to (Rome, Oslo):")
            person.type("Paris\r")
            person.see("choose one of Rome, Oslo")
            person.type("\x15Oslo\r")
            person.see("nights:")
            person.type("15\r")
            person.see("enter at most 14")
            person.type("\x7f3\r")
            person.see("breakfast (yes, no; optional):")
            person.type("\x15no\r")
            person.see("note (optional):")
            person.type("\r")
            person.see("guests (optional):")
            person.type("Ann, Bob\r")
            return person.see(">")

    answer = await asyncio.to_thread(use)
    assert "'nights': 13" in answer
    assert "'place': 'Oslo'" in answer
    assert "'breakfast': False" in answer
    assert "'guests': ['Ann', 'Bob']" in answer
    assert "note" not in answer


async def test_a_form_can_be_left(url, settings):
    def use():
        with terminal(url, **settings) as person:
            person.see(">")
            person.type("form\r")
            person.see("Where to (Rome, Oslo):")
            person.type("\x03")
            person.see(">")
            person.type("a week\r")
            person.see("'a week'")

    await asyncio.to_thread(use)


async def test_a_conversation_is_resumed_with_its_lines(url, settings):
    def use():
        with terminal(url, **settings) as person:
            person.see(">")
            person.type("count\r")
            person.see("0 before, 1 parts")
            person.see(">")
            person.type("one\x1b\rtwo\r")
            person.see("2 lines")
            person.see(">")
            person.type("\x04")
            hint = person.see("-a http")
            person.process.wait(PATIENCE)
        with terminal("--resume", **settings) as person:
            shown = person.see("0 before, 1 parts")
            person.see("2 lines")
            person.see(">")
            person.type("\x1b[A\x1b[A\x1b[A")  # upwards, past both lines of the last message
            person.see("count")
            person.type("\r")
            person.see("4 before, 1 parts")
        return hint, shown

    hint, shown = await asyncio.to_thread(use)
    assert "resume: a2a-adapters chat --context " in hint
    assert "waiter: Bring something to drink." in shown


async def test_a_corrected_answer_replaces_the_paragraph_that_grows(url):
    def talk():
        with terminal(url) as person:
            person.see(">")
            person.type("correct it\r")
            person.see("raw")
            person.see(">")
            kept = person.raw.rpartition("\x1b[2K")[2]
            person.type("correct it all\r")
            for text in ("One raw.", "the agent corrected its answer:", "One checked.", "Two"):
                person.see(text)
            return kept

    kept = await asyncio.to_thread(talk)
    assert "A checked answer." in kept
    assert "raw" not in kept
