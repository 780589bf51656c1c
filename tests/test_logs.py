"""What strangers write cannot pass for something else in the log."""

from __future__ import annotations

import json
import logging
import re
from logging.config import dictConfig
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from a2a_adapters.observability.failures import log_failure
from a2a_adapters.observability.logs import JsonFormatter, TextFormatter, log_config
from tests.processes import launched
from tests.warm import warm

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
def test_tracebacks_are_told_from_records(odd):
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


@pytest.mark.parametrize("form", FORMATTERS)
def test_serve_writes_by_them(form):
    dictConfig(log_config(form) | {"disable_existing_loggers": False})
    try:
        [handler] = logging.getLogger("uvicorn").handlers
        assert type(handler.formatter) is type(FORMATTERS[form])
    finally:
        for name in ("uvicorn", "uvicorn.error", "a2a_adapters"):
            logger = logging.getLogger(name)
            logger.handlers.clear()
            logger.setLevel(logging.NOTSET)
            logger.propagate = True


@pytest.mark.parametrize("form", FORMATTERS)
def test_a_caller_cannot_forge_a_line(tmp_path, monkeypatch, form):
    (tmp_path / "agents.py").write_text("def fail(text: str) -> str:\n    raise ValueError(text)\n")
    monkeypatch.chdir(tmp_path)
    command = warm("-m", "a2a_adapters", "serve", "agents:fail", "--port", "0")
    with launched([*command, "--log-format", form]) as (server, url):
        for odd in ODD[:-1]:
            message = {"messageId": odd, "role": "ROLE_USER", "parts": [{"text": odd}]}
            body = {"jsonrpc": "2.0", "id": odd, "method": "SendMessage"}
            httpx.post(
                url,
                json={**body, "params": {"message": {**message, "contextId": odd}}},
                headers={"A2A-Version": "1.0"},
                timeout=60,
            ).raise_for_status()
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


async def test_what_a_database_was_given_is_not_logged(caplog):
    """Also not by an engine that a user has made, for a store of a2a-sdk."""
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
