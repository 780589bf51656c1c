"""Tasks that wait for a login, in `send` and `chat`."""

from __future__ import annotations

import pytest
import pytest_asyncio

from a2a_adapters import AgentRequest, AuthRequired, Data, build_app
from a2a_adapters.testing import running

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]

LOGIN = "https://login.example/authorize?state=1"


async def reads_mail(request: AgentRequest):
    """Read mail."""
    hostile = "https://evil.example/\x1b[2J"
    answer = yield AuthRequired("Please log in.", [Data([{"url": LOGIN}, {"url": hostile}])])
    yield f"After {answer.text!r}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def mail():
    async with running(build_app(reads_mail)) as url:
        yield url


@pytest.mark.parametrize("option", ["--quiet", "--verbose"])
async def test_send_shows_where_to_log_in_and_the_command_for_afterwards(mail, run, option):
    done = await run("send", mail, "read my mail", option)
    assert f"log in at {LOGIN}\n" in done.stderr
    assert "\x1b" not in done.stderr + done.stdout
    command = done.stderr.split("afterwards: a2a-adapters ")[1]
    words = command.replace('"I have logged in."', "").split()
    assert command.endswith('"I have logged in."\n')
    after = await run(*words, "I have logged in.")
    assert after.stdout == "After 'I have logged in.'\n"


async def test_chat_goes_on_with_enter(mail, run):
    done = await run("chat", mail, text="read my mail\n\nread again\nNo, thanks\n\n")
    assert done.stderr.count(f"log in at {LOGIN}\n") == 2
    assert "press Enter when you have logged in" in done.stderr
    assert "After 'I have logged in.'" in done.stdout
    assert "After 'No, thanks'" in done.stdout
    assert "\x1b" not in done.stderr + done.stdout
