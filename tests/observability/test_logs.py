"""Text from callers cannot imitate log entries."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from logging.handlers import QueueHandler
from queue import SimpleQueue
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from a2a_adapters import ListenError, RemoteAgent, aserve, build_app
from a2a_adapters.observability.failures import log_failure
from a2a_adapters.observability.logs import JsonFormatter, TextFormatter
from a2a_adapters.testing import running
from tests.support.command_line import finished
from tests.support.processes import launched
from tests.support.requests import V1, rpc, say
from tests.support.warm import warm

ODD = [
    "\n2026-01-01 INFO forged",
    "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029",
    "\x1b[2J\x1b]0;title\x07\x9b31m",
    "\x00\x08\x7f\x9d",
    "\u202etxet\u2066\u200b\ufeff",
    "\ud83d half",
]
FORMATTERS = {"text": TextFormatter("%(message)s", use_colors=False), "json": JsonFormatter()}


def record_of(message, *args, error=None, **extra):
    fields = {"name": "a2a_adapters.x", "msg": message, "args": args, **extra}
    record = logging.makeLogRecord(fields)
    if error is not None:
        record.exc_info = (type(error), error, error.__traceback__)
    return record


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("form", FORMATTERS)
def test_a_record_is_one_line_for_every_reader(odd, form):
    for record in (
        record_of(odd),
        record_of("%s %% of %s", odd, 5),
        record_of("x", path=odd, color_message=f"%s{odd}"),
    ):
        shown = FORMATTERS[form].format(record)
        assert shown.isprintable()
        assert shown.encode()
        if form == "json":
            assert json.loads(shown)["message"] == record.getMessage()
    assert FORMATTERS[form].format(record_of("Grüße, 世界 😀")).count("Grüße, 世界 😀") == 1


def test_uvicorns_lines_are_whole_on_a_terminal():
    record = record_of("running on %s:%d", "here", 8000, color_message="running on [%s:%d]")
    record.name = "uvicorn.error"
    shown = TextFormatter("%(levelprefix)s %(message)s", use_colors=True).format(record)
    assert "running on [here:8000]" in shown


def fail(text):
    raise ValueError(text)


@pytest.mark.parametrize("odd", ODD)
def test_tracebacks_are_indented(odd):
    with pytest.raises(ValueError, match=re.escape(odd)) as caught:
        fail(odd)
    shown = FORMATTERS["text"].format(record_of("failed", error=caught.value))
    line = FORMATTERS["json"].format(record_of("failed", error=caught.value))
    first, *others = shown.split("\n")
    assert first == "failed"
    assert others[0] == "  Traceback (most recent call last):"
    assert all(other.startswith("  ") and other.isprintable() for other in others)
    assert line.isprintable()
    assert json.loads(line)["exception"].endswith(odd)


def test_colours_stay():
    formatter = TextFormatter("%(levelprefix)s %(message)s", use_colors=True)
    shown = formatter.format(record_of("\x1b[31mx", levelno=logging.INFO, levelname="INFO"))
    assert shown.startswith("\x1b[32mINFO")
    assert shown.endswith("\\x1b[31mx")


class Unshowable:
    def __str__(self):
        raise RuntimeError("cannot be shown")

    __repr__ = __str__


CIRCLE: dict[str, object] = {}
CIRCLE["itself"] = CIRCLE


@pytest.mark.parametrize("form", FORMATTERS)
@pytest.mark.parametrize(
    "value", [CIRCLE, {(1, 2): "\ud83d"}, Unshowable()], ids=["circle", "keys", "unshowable"]
)
def test_a_record_that_cannot_be_shown_is_still_a_line(value, form):
    for record in (record_of("x", about=value), record_of("x %s", value), record_of(value)):
        shown = FORMATTERS[form].format(record)
        assert shown.isprintable()
        if form == "json":
            assert json.loads(shown)["message"]


def test_a_record_whose_arguments_do_not_fit_is_still_a_line():
    for formatter in FORMATTERS.values():
        shown = formatter.format(record_of("%d of %s", "a\nb"))
        assert "%d of %s" in shown
        assert "a\\nb" in shown or "a\\\\nb" in shown
        assert shown.isprintable()


NOISY = """
import asyncio, gc, logging, sys, threading, warnings
from rich.console import Console
from rich.logging import RichHandler

own = logging.getLogger("own")
own.addHandler(logging.StreamHandler())
own.propagate = False
logging.getLogger("rich").addHandler(RichHandler(console=Console(stderr=True)))
logging.getLogger("rich").propagate = False
logging.getLogger("at.import").warning("at import")
warnings.warn("at import", stacklevel=1)

class Unraisable:
    def __init__(self, text):
        self.text = text
    def __del__(self):
        raise ValueError(self.text)

def raises(text):
    raise ValueError(text)

async def say(text: str) -> str:
    own.warning(text)
    logging.getLogger("rich").warning(text)
    logging.getLogger("nobody.handles").warning(text)
    logging.getLogger("does.not.fit").warning("%d", text)
    logging.warning(text)
    warnings.warn(text, stacklevel=1)
    thread = threading.Thread(target=raises, args=[text])
    thread.start()
    thread.join()
    Unraisable(text)
    gc.collect()
    asyncio.get_running_loop().call_exception_handler({"message": text})
    return text
"""
LINES = 9
FORGED = f"{ODD[0]}{ODD[2]}\n"


@pytest.mark.parametrize("form", FORMATTERS)
def test_serve_formats_the_logs_of_libraries(tmp_path, monkeypatch, form):
    (tmp_path / "noisy.py").write_text(NOISY)
    monkeypatch.chdir(tmp_path)
    command = warm("-m", "a2a_adapters", "serve", "noisy:say", "--port", "0")
    with launched([*command, "--log-format", form]) as (server, url):
        sent(url, FORGED)
        server.terminate()
        log = server.ended()
    lines = log.split("\n")[:-1]
    assert all(line.isprintable() for line in lines)
    assert sum("at import" in line for line in lines) == 2
    if form == "json":
        said = [json.loads(line) for line in lines]
        texts = [f"{line['message']}{line.get('exception')}" for line in said]
        assert sum(FORGED in text for text in texts) == LINES - 1
        assert any(repr(FORGED) in text for text in texts)  # the value that does not fit
    else:
        assert all(re.match(r"\d{4}-\d\d-\d\d |  ", line) for line in lines)
        assert log.count("INFO forged") == LINES


def sent(url, text):
    answer = httpx.post(url, json=rpc("SendMessage", say(text)), headers=V1, timeout=60)
    assert answer.json()["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


SCRIPT = """
import logging
from a2a_adapters import ServerOptions, serve_runnable

def say(text: str) -> str:
    logging.getLogger("library").info(text)
    return text

handlers = [logging.FileHandler("mine.log"), logging.StreamHandler()]
logging.basicConfig(level="INFO", handlers=handlers)
serve_runnable(say, port=0, options=ServerOptions(log_format="json"))
raise ValueError("after\\nwards")
"""


def test_handlers_of_the_user_keep_their_levels_and_files(tmp_path, monkeypatch):
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    with launched(warm("script.py")) as (server, url):
        sent(url, "one\ntwo")
        server.send_signal(signal.SIGINT)  # a second SIGTERM, from uvicorn, would end the script
        lines = [json.loads(line) for line in server.ended().splitlines()]
    assert next(line for line in lines if line["logger"] == "library")["message"] == "one\ntwo"
    assert "after\nwards" in lines[-1]["exception"]
    assert "one\ntwo" in (tmp_path / "mine.log").read_text()


@pytest.mark.parametrize("target", ["nowhere:say", "noisy:raises"])
def test_a_server_that_cannot_start_says_so_in_the_form_of_its_log(tmp_path, monkeypatch, target):
    (tmp_path / "noisy.py").write_text("def raises(one, two, three): ...\nprint(1)")
    monkeypatch.chdir(tmp_path)
    ended = finished("serve", target, "--port", "0", "--log-format", "json")
    assert ended.returncode == 2
    [line] = map(json.loads, ended.stderr.splitlines())
    assert line["level"] == "CRITICAL"


def test_an_embedded_application_does_not_change_the_logging():
    before = state_of_logging()
    build_app(lambda text: text)
    assert state_of_logging() == before


@pytest.mark.thorough
def test_an_error_of_this_package_shows_the_users_lines_only():
    program = "from a2a_adapters import serve\nserve(42)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    lines = done.stderr.splitlines()
    assert "NoAdapterError: no plugin can serve an object of type builtins.int" in lines[-1]
    assert len(lines) <= 5, done.stderr


async def test_aserve_sets_up_the_loggers_of_the_server_alone():
    before = state_of_logging()
    loggers = [logging.getLogger(name) for name in ("uvicorn", "a2a_adapters", "a2a_adapters_sql")]
    kept = [(each.handlers, each.level, each.propagate) for each in loggers]
    try:
        with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ListenError):
            await aserve(lambda text: text, port=taken.getsockname()[1])
        assert all(each.handlers for each in loggers)
        assert state_of_logging() == before
    finally:
        for each, (handlers, level, propagate) in zip(loggers, kept, strict=True):
            each.handlers, each.propagate = handlers, propagate
            each.setLevel(level)


def state_of_logging():
    return (
        logging.root.handlers[:],
        logging.root.level,
        logging.lastResort,
        warnings.showwarning,
        sys.excepthook,
        sys.unraisablehook,
        threading.excepthook,
    )


@pytest.mark.parametrize("form", FORMATTERS)
def test_a_caller_cannot_forge_a_line(tmp_path, monkeypatch, form):
    (tmp_path / "agents.py").write_text("def fail(text: str) -> str:\n    raise ValueError(text)\n")
    monkeypatch.chdir(tmp_path)
    command = warm("-m", "a2a_adapters", "serve", "agents:fail", "--port", "0")
    with launched([*command, "--log-format", form]) as (server, url):
        for odd in ODD[:-1]:
            body = rpc("SendMessage", say(odd, messageId=odd, contextId=odd), odd)
            httpx.post(url, json=body, headers=V1, timeout=60).raise_for_status()
            httpx.get(f"{url}/tasks/x", params={"historyLength": odd}, timeout=60)
            httpx.get(f"{url}/{quote(odd)}", timeout=60)
        server.terminate()
        rest = server.ended()
    assert "ValueError" in rest
    lines = rest.split("\n")[:-1]
    assert all(line.isprintable() for line in lines)
    assert not [line for line in lines if line.startswith("2026-01-01 INFO forged")]
    if form == "json":
        assert all(json.loads(line) for line in lines)


SECRET = "s3cret"


async def test_parameters_of_statements_are_not_logged(caplog):
    """Neither does an engine that a user created for a store of a2a-sdk."""
    engine = create_async_engine("sqlite+aiosqlite://")
    try:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT * FROM nowhere WHERE a = :a"), {"a": SECRET})
    except Exception as error:
        wrapped = RuntimeError("the store failed")
        wrapped.__cause__ = error
        plain = FORMATTERS["text"].format(record_of("x", error=wrapped))
        log_failure("saving", wrapped)
    await engine.dispose()
    for shown in (caplog.text, plain):
        assert "no such table" in shown
        assert SECRET not in shown


async def test_blocking_functions_are_named():
    records, log = SimpleQueue(), logging.getLogger("a2a_adapters.observability.loop")
    handler = QueueHandler(records)
    log.addHandler(handler)
    said = []

    async def impolite(text: str) -> str:
        said.append(records.get(timeout=60).getMessage())  # blocks as time.sleep does
        return text

    try:
        async with running(build_app(impolite)) as url, RemoteAgent(url) as agent:
            await agent.send("x")
            last = await asyncio.to_thread(records.get, timeout=60)
    finally:
        log.removeHandler(handler)
    assert re.search(r"impolite \(.*\) blocks the event loop, .* more than 1 s", said[0])
    assert re.search(r"impolite \(.*\) blocked the event loop for [0-9.]+ s", last.getMessage())
