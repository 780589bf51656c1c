"""Decisions and costs are logged by day, kept for as long as configured, and can be queried."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import typer
from a2a_adapters_router.command import router as command
from a2a_adapters_router.config import HistoryConfig
from a2a_adapters_router.history import History

from a2a_adapters import ConfigurationError, RemoteAgentError
from tests.plugins.router.providers import ANSWER, Provider, leave, routed

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
PRICES = {"one": {"request": 1}, "two": {"request": 0.25}}


def lines(folder):
    return [json.loads(line) for file in folder.iterdir() for line in file.open()]


async def test_every_decision_is_logged_with_its_costs_but_no_text(tmp_path):
    providers = {"one": Provider(failures=1), "two": Provider()}
    history = {"folder": str(tmp_path / "log")}
    async with routed(providers, prices=PRICES, history=history) as agent:
        reply = await agent.send("a secret question")
        with pytest.raises(RemoteAgentError):
            await agent.send("?", metadata={"model": "two", "budget": 0.1})
    answered, refused = lines(tmp_path / "log")
    assert (answered["outcome"], answered["model"]) == ("answered", "two")
    assert answered["task"] == reply.task_id
    assert answered["trace"] == reply.metadata["resilience_trace"]
    calls = [(each["model"], each["outcome"], each["usd"]) for each in answered["calls"]]
    assert calls == [("one", "failed", 0), ("two", "answered", 0.25)]
    assert (refused["outcome"], refused["calls"]) == ("refused", [])
    assert refused["asked"] == {"model": "two", "budget": 0.1}
    logged = json.dumps([answered, refused])
    assert "secret" not in logged
    assert "quick brown" not in logged


async def test_a_cancelled_call_is_logged_at_its_worst_price(tmp_path):
    provider = Provider(gate=asyncio.Event())
    history = {"folder": str(tmp_path)}
    async with routed({"one": provider}, prices=PRICES, history=history) as agent:
        await leave(agent, provider)
    (line,) = lines(tmp_path)
    assert line["outcome"] == "left"
    assert [each["usd"] for each in line["calls"]] == [1]


async def test_an_answer_needs_no_history(tmp_path, caplog):
    (tmp_path / "file").touch()
    history = {"folder": str(tmp_path / "file")}
    async with routed({"one": Provider()}, history=history) as agent:
        assert (await agent.send("hello")).text == ANSWER
    assert "cannot write the history" in caplog.text


def test_old_files_are_deleted_and_others_are_not(tmp_path):
    today = datetime.now(UTC).date()
    days = {age: tmp_path / f"{today - timedelta(days=age)}.jsonl" for age in (0, 2, 3)}
    others = [tmp_path / "2020-01-01.txt", tmp_path / "2020-99-99.jsonl"]
    for file in (*days.values(), *others):
        file.touch()
    History(HistoryConfig(folder=str(tmp_path), days=3)).add({})
    assert {*tmp_path.iterdir()} >= {days[0], days[2], *others}
    assert not days[3].exists()


def test_several_writers_append_whole_lines(tmp_path):
    config = HistoryConfig(folder=str(tmp_path))
    histories = [History(config) for _ in range(4)]
    with ThreadPoolExecutor() as threads:
        for each in histories * 25:
            threads.submit(each.add, {"text": "x" * 20_000})
    found = History(config).read(LONG_AGO)
    assert [len(each["text"]) for each in found] == [20_000] * 100


FILE = """\
deployments: [{model_name: one, agent: "https://agent.example"}]
teams: {research: [ann, bob], all: [ann]}
history: {folder: log}
"""


def call(model, usd, outcome="answered"):
    tokens = {"input_tokens": 10, "output_tokens": 5}
    about = {"model": model, "provider": "openai", "outcome": outcome}
    return {**about, "seconds": 0.5, "usd": usd, **tokens}


@pytest.fixture
def file(tmp_path):
    now = datetime.now(UTC)
    found = [
        (0, "ann", [call("one", 0, "failed"), call("two", 0.25)]),
        (1, "bob", [call("two", 0.5)]),
        (9, "ann", [call("two", 4.0)]),
    ]
    (tmp_path / "log").mkdir()
    for age, owner, calls in found:
        time = now - timedelta(days=age)
        line = {"time": time.isoformat(), "owner": owner, "outcome": "answered", "calls": calls}
        text = json.dumps({**line, "explanation": "two at\x1b[2J openai."}) + '\n{"cut sh'
        (tmp_path / f"log/{time:%Y-%m-%d}.jsonl").write_text(text)
    path = tmp_path / "router.yaml"
    path.write_text(FILE)
    return str(path)


SUMS = [
    ("owner,model", "7d", [["bob", "two", 1, 0, 0.5], ["ann", "two", 1, 0, 0.25], ["ann", "one"]]),
    ("owner", "2w", [["ann", 3, 1, 4.25], ["bob", 1, 0, 0.5]]),
    ("team", "2020-01-01", [["research", 4, 1, 4.75], ["all", 3, 1, 4.25]]),
]


@pytest.mark.parametrize(("by", "since", "expected"), SUMS)
def test_spending_is_summed(file, capsys, by, since, expected):
    command("spend", file, by=by, since=since, as_json=True)
    shown = []
    for line in capsys.readouterr().out.splitlines():
        row = json.loads(line)
        shown.append([row[key] for key in (*by.split(","), "calls", "failed", "usd")])
    assert [row[: len(each)] for row, each in zip(shown, expected, strict=True)] == expected


def test_tables_and_history_are_for_people(file, capsys):
    command("spend", file, by="owner", since="7d")
    command("history", file, since="12h")
    table, *_, line = capsys.readouterr().out.splitlines()
    assert table.split() == [
        *["owner", "calls", "failed", "input_tokens", "output_tokens", "seconds", "usd"]
    ]
    assert line.endswith("answered  ann  two at [2J openai.")


@pytest.mark.parametrize("wrong", [{"since": "soon"}, {"by": "colour"}, {"since": "9999999999d"}])
def test_wrong_options_are_refused(file, wrong):
    with pytest.raises(typer.BadParameter):
        command("spend", file, **{"by": "model", "since": "1d", "as_json": False} | wrong)


def test_without_a_history_there_is_nothing_to_query(file, tmp_path):
    (tmp_path / "router.yaml").write_text(FILE.replace("history: {folder: log}", ""))
    with pytest.raises(ConfigurationError, match="has no `history`"):
        command("spend", file)
