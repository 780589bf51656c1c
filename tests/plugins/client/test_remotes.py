"""Agents that the settings of a folder name."""

from __future__ import annotations

import pytest

from a2a_adapters import AgentRequest, build_app
from a2a_adapters.testing import running
from tests.support.servers.guarded import bearer

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]

FILE = "a2a-adapters.toml"
TRUSTED = {"A2A_ADAPTERS_CONFIG": FILE}


async def skilled(request: AgentRequest):
    """Return the chosen skill."""
    return str(request.metadata.get("skill_id") or request.message.metadata["skill_id"])


async def test_a_name_stands_for_an_agent(url, run, tmp_path):
    (tmp_path / FILE).write_text(f'[remote.sky]\nurl = "{url}"\ntimeout = 600\n')
    assert (await run("send", "sky", "Rome")).stdout == "It rains in Rome\\x1b[2J.\n"
    assert "It rains" in (await run("chat", "sky", text="Rome\n")).stdout
    assert "Name: weather" in (await run("card", "get", "sky")).stdout
    asked = await run("send", "sky", "ask")
    assert asked.stderr.rstrip().endswith('-a sky "..."')
    measured = await run("bench", "sky", "-n", "1", "--turns", "1")
    assert measured.returncode == 0, measured.stderr
    (tmp_path / FILE).rename(tmp_path / "pyproject.toml")
    table = (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(table.replace("[remote", "[tool.a2a-adapters.remote"))
    assert "It rains" in (await run("send", "sky", "Rome")).stdout


async def test_the_own_names_of_the_user_win(url, run, tmp_path):
    (tmp_path / FILE).write_text('[remote.sky]\nurl = "http://127.0.0.1:9"\n')
    await run("agents", "add", "sky", url)
    assert "It rains" in (await run("send", "sky", "Rome")).stdout


async def test_the_settings_choose_a_skill(run, tmp_path):
    async with running(build_app(skilled)) as url:
        (tmp_path / FILE).write_text(f'[remote.desk]\nurl = "{url}"\nskill = "book"\n')
        assert (await run("send", "desk", "hi")).stdout == "book\n"
        assert (await run("send", "desk", "hi", "--skill", "fly")).stdout == "fly\n"
        assert "book" in (await run("chat", "desk", text="hi\n")).stdout


async def test_secrets_go_to_the_agents_of_trusted_files_only(run, tmp_path):
    guarded = bearer("s3cret", card_too=True)
    async with running(guarded) as url:
        (tmp_path / FILE).write_text(f'[remote.desk]\nurl = "{url}"\nbearer_env = "DESK_TOKEN"\n')
        token = {"DESK_TOKEN": "s3cret"}
        assert "pong" in (await run("send", "desk", "ping", **token, **TRUSTED)).stdout
        done = await run("bench", "desk", "-n", "1", "--turns", "1", **token, **TRUSTED)
        assert done.returncode == 0, done.stderr
        unset = await run("send", "desk", "ping", **TRUSTED)
        assert unset.returncode == 2
        assert "needs the variable DESK_TOKEN" in unset.stderr
        before = len(guarded.received)
        for command in (["send", "desk", "ping"], ["bench", "desk"]):
            refused = await run(*command, **token)
            assert refused.returncode == 2
            assert "to send it your $DESK_TOKEN, set A2A_ADAPTERS_CONFIG=" in refused.stderr
        other = await run("send", "desk", "ping", A2ACLI_BEARER="mine", **token)
        assert "to send it your --bearer" in other.stderr
        assert len(guarded.received) == before
        given = await run("send", "desk", "ping", "--bearer", "s3cret", **TRUSTED)
        assert "pong" in given.stdout


async def test_serve_ignores_the_agents_to_call(run, tmp_path):
    (tmp_path / FILE).write_text('port = 9\n[remote.desk]\nurl = "http://127.0.0.1:9"\n')
    shown = await run("config", "show")
    assert shown.returncode == 0, shown.stderr
    assert "port = 9" in shown.stdout
