"""`a2a-adapters history`, and continuing conversations."""

from __future__ import annotations

import json
import stat

import pytest

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture
def turns(run):
    """Return a reader of the history."""

    async def turns(*arguments):
        return json.loads((await run("history", "list", *arguments, "-o", "json")).stdout)

    return turns


async def test_messages_and_answers_are_kept(url, run, turns, tmp_path):
    await run("send", url, "Rome")
    await run("send", url, "draw Oslo", "-o", "json", "--bearer", "s3cret")
    await run("send", f"{url}?key=s3cret", "Bergen")
    first, second, *_ = await turns()
    assert (first["agent"], first["question"], first["state"]) == (url, "Rome", "completed")
    assert first["answer"] == "It rains in Rome\x1b[2J."
    assert '"degrees":8' in second["answer"].replace(" ", "")
    assert [each["question"] for each in await turns("--search", "degrees")] == ["draw Oslo"]
    assert [each["question"] for each in await turns("-n", "1", url)] == ["Bergen"]
    [file] = tmp_path.rglob("history.db")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"s3cret" not in file.read_bytes()
    shown = (await run("history", "list")).stdout
    assert "> Rome\nIt rains in Rome\\x1b[2J.\n" in shown


async def test_the_last_conversation_is_continued(server, run, turns):
    weather, parts = f"{server}/agents/weather", f"{server}/agents/parts"
    assert (await run("send", "-c", "x")).returncode == 2
    await run("send", weather, "ask")
    await run("send", parts, "hello")
    assert (await run("send", "-c", weather, "Bergen")).stdout == "It rains in Bergen\\x1b[2J.\n"
    await run("send", "-c", "Oslo")
    asked, _, answered, last = await turns()
    assert answered["task_id"] == asked["task_id"]
    assert (last["agent"], last["context_id"]) == (weather, asked["context_id"])
    assert last["task_id"] != asked["task_id"]


async def test_one_switch_keeps_nothing(url, run, turns, tmp_path):
    await run("history", "off")
    await run("send", url, "Rome")
    await run("chat", url, text="Rome\n")
    assert await turns() == []
    assert not list(tmp_path.rglob("history.db"))
    await run("history", "on")
    await run("send", url, "Rome")
    assert len(await turns()) == 1
    await run("history", "clear")
    assert await turns() == []


async def test_a_broken_history_does_not_spoil_an_answer(url, run, tmp_path):
    await run("send", url, "Rome")
    [file] = tmp_path.rglob("history.db")
    file.write_bytes(b"broken" * 1000)
    done = await run("send", url, "Rome")
    assert (done.returncode, "It rains" in done.stdout) == (0, True)
    assert "history.db cannot be used" in done.stderr
    assert (await run("history", "list")).returncode == 2
