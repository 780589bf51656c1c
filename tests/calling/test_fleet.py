"""Several agents by name, from a mapping or a file."""

from __future__ import annotations

import asyncio
import logging

import pytest

from a2a_adapters import (
    BearerAuth,
    ConfigurationError,
    Fleet,
    Interceptor,
    RemoteAgent,
    RemoteSettings,
    Skill,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.testing import running
from tests.support.servers.front import Recording
from tests.support.servers.guarded import bearer

NOWHERE = "http://127.0.0.1:9"


class Desk(Adapter):
    """An agent with two skills."""

    def describe(self):
        return AgentDescription(
            name="The desk",
            description="Helps.",
            skills=[
                Skill(id="fly", name="Fly", description="Books flights."),
                Skill(id="eat", name="Eat", description="Books tables."),
            ],
        )

    async def stream(self, request):
        yield TextDelta(request.text)


async def test_members_are_described_under_their_names():
    async with running(build_app(Desk())) as url:
        fleet = Fleet(
            {
                "plain": url,
                "given": RemoteAgent(url),
                "flights": {"url": url, "skill": "fly", "wait": 9},
                "own": RemoteSettings(url=url, description="Does it all."),
            },
            prefix="ask_",
        )
        plain, given, flights, own = await fleet.members()
        again = await asyncio.to_thread(fleet.members_sync)
    assert [each.tool.name for each in again] == [
        "ask_plain",
        "ask_given",
        "ask_flights",
        "ask_own",
    ]
    assert plain.tool.description.startswith("Asks the agent ask_plain: Helps.\nIt can:\n- Fly: ")
    assert given.about.description == "Helps."
    assert (flights.tool.description, flights.tool.skill_id) == ("Books flights.", "fly")
    assert flights.wait == 9
    assert own.about.description == "Does it all."


async def test_an_agent_that_is_down_is_left_out_and_comes_back(caplog):
    caplog.set_level(logging.INFO)
    front = Recording(build_app(Desk()))
    front.is_down = True
    front.refusal = lambda _: _unavailable if front.is_down else None
    async with running(front) as url:
        fleet = Fleet({"desk": {"url": url, "retries": 0}})
        assert await fleet.members() == []
        assert await fleet.members() == []
        assert caplog.text.count("the agent desk is left out until it answers: ") == 1
        front.is_down = False
        assert [each.tool.name for each in await fleet.members()] == ["desk"]
        assert "the agent desk answers again" in caplog.text


async def _unavailable(scope, receive, send):
    await send({"type": "http.response.start", "status": 503, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def test_credentials_are_in_variables(monkeypatch):
    guarded = bearer("s3cret", card_too=True)
    monkeypatch.setenv("DESK_TOKEN", "s3cret")
    monkeypatch.setenv("DESK_TENANT", "blue")
    async with running(guarded) as url:
        settings = {"bearer_env": "DESK_TOKEN", "headers_env": {"X-Tenant": "DESK_TENANT"}}
        fleet = Fleet(
            {"desk": {"url": url, **settings}, "own": {"url": url, "auth": BearerAuth("s3cret")}}
        )
        assert len(await fleet.members()) == 2
        await fleet.agents["desk"].send("hi")
        await fleet.aclose()
    assert set(guarded.header_values("x-tenant")) == {"", "blue"}
    monkeypatch.delenv("DESK_TENANT")
    with pytest.raises(ConfigurationError, match="needs the variable DESK_TENANT"):
        Fleet({"desk": {"url": NOWHERE, **settings}})


async def test_interceptors_know_the_names():
    class Noting(Interceptor):
        seen: list[str] = []  # noqa: RUF012

        async def before(self, call):
            self.seen.append(call.agent)
            return call

        async def after(self, call, reply):
            self.seen.append(call.agent)
            return reply

    async with running(build_app(Desk())) as url:
        fleet = Fleet({"one": url, "two": url}, interceptors=[Noting()])
        await fleet.agents["one"].send("hi")
        task = await fleet.agents["two"].start("hi")
        await task.result()
    assert Noting.seen == ["one", "one", "two", "two"]


async def test_files_have_the_same_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = '[{}remote.desk]\nurl = "http://127.0.0.1:9"\ntimeout = 5\nretries = 0\n'
    (tmp_path / "a2a-adapters.toml").write_text('target = "app:chain"\n' + table.format(""))
    (tmp_path / "pyproject.toml").write_text(table.format("tool.a2a-adapters."))
    for fleet in (Fleet.from_file(), Fleet.from_file("pyproject.toml")):
        assert list(fleet.agents) == ["desk"]
        assert fleet.agents["desk"].name == NOWHERE
        assert await fleet.members() == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[remote.desk]\n", "the remote agent desk: url: Field required"),
        ('[remote.desk]\nurl = "http://a.example"\ntoken = "x"\n', "token: Extra inputs"),
        ('[remote.desk]\nurl = "http://a.example"\nwait = 0\n', "wait: "),
        ('[remote.desk]\nurl = "http://a.example"\nauth = "x"\n', "auth: "),
        ('[remote."a b"]\nurl = "http://a.example"\n', "'a b' is not a name"),
        ('[remote.desk]\nurl = "a.example"\n', "not of the form"),
        ("remote = 1\n", "remote is not a table"),
        ("[remote\n", "is invalid"),
    ],
)
def test_faults_of_a_file_are_explained(content, reason, tmp_path):
    file = tmp_path / "agents.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError, match=reason):
        Fleet.from_file(file)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Fleet.from_file(tmp_path / "none.toml")


async def test_an_unknown_skill_is_an_error():
    async with running(build_app(Desk())) as url:
        with pytest.raises(ConfigurationError, match="no skill 'swim'; it has fly, eat"):
            await Fleet({"desk": {"url": url, "skill": "swim"}}).members()
