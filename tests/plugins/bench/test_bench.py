"""`a2a-adapters bench`: the load that it puts on agents, and its figures."""

from __future__ import annotations

import asyncio
import json

import pytest
from a2a_adapters_bench import Load, measure

from a2a_adapters import RemoteAgent, ServerOptions, TaskMetadata, build_app
from a2a_adapters.testing import running
from tests.support.warm import completed


class Desk:
    """An agent that notes the conversations that it has at once, and fails on request."""

    def __init__(self):
        self.open = set()
        self.most = 0
        self.turns = {}

    async def answer(self, request):
        """Answer in two chunks."""
        context = request.context_id
        self.open.add(context)
        self.most = max(self.most, len(self.open))
        self.turns[context] = self.turns.get(context, 0) + 1
        try:
            if request.text == "fail":
                raise RuntimeError("no")
            yield "one "
            yield "two"
            yield TaskMetadata(
                {
                    "usage": {"input_tokens": 3, "output_tokens": 7, "total_tokens": 10},
                    "cost_envelope": {"actual": 0.25},
                }
            )
        finally:
            self.open.discard(context)


@pytest.fixture
async def desk():
    agent = Desk()
    async with running(build_app(agent.answer, name="desk")) as url:
        yield agent, url


async def run(*words):
    done = await asyncio.to_thread(completed, "bench", *words)
    return done.returncode, done.stdout, done.stderr


async def test_conversations_have_turns_and_run_at_once(desk):
    agent, url = desk
    async with RemoteAgent(url) as remote:
        found = await measure({"desk": remote}, Load(conversations=5, turns=3, at_once=2))
    assert sorted(agent.turns.values()) == [3] * 5
    assert agent.most <= 2
    rows = found["desk"].rows()
    assert (rows["answers"], rows["errors"]) == (15, 0)
    assert (rows["output_tokens"], rows["cost_usd"]) == (15 * 7, 15 * 0.25)
    assert 0 < rows["first_text_ms_p50"] <= rows["answer_ms_p50"] <= rows["answer_ms_p99"]
    assert rows["tokens_per_second_p50"] > 0


async def test_two_agents_are_compared(desk):
    agent, url = desk
    async with running(build_app(Desk().answer, name="other")) as other:
        code, shown, _ = await run(url, "hi", "-n", "2", "--turns", "1", "--compare", other)
    assert code == 0
    assert shown.startswith(f"first: {url}\nsecond: {other}\n")
    [answers] = [line.split() for line in shown.splitlines() if line.startswith("answers  ")]
    assert answers == ["answers", "2", "2", "1.00"]
    assert len(agent.turns) == 2


async def test_errors_are_counted_and_fail_the_command(desk):
    _, url = desk
    code, shown, errors = await run(url, "fail", "-n", "2")
    assert code == 1
    assert [line.split() for line in shown.splitlines()][1:3] == [["answers", "0"], ["errors", "2"]]
    assert f"{url}: 2 x RemoteTaskError" in errors
    code, shown, _ = await run(url, "fail", "-n", "2", "-o", "json")
    [figures] = json.loads(shown).values()
    assert (code, figures["by_error"]) == (1, {"RemoteTaskError": 2})


async def test_only_the_first_agent_gets_the_credentials():
    seen = {}

    def noting(name):
        def answer(request):
            seen.setdefault(name, set()).add(request.caller.headers.get("x-key"))
            return "hello"

        return answer

    options = ServerOptions(caller_headers=["x-key"])
    apps = [build_app(noting(name), name=name, options=options) for name in ("mine", "other")]
    async with running(apps[0]) as mine, running(apps[1]) as other:
        code, _, errors = await run(
            mine, "-n", "1", "--header", "X-Key: secret", "--compare", other
        )
    assert code == 0, errors
    assert seen == {"mine": {"secret"}, "other": {None}}


async def test_an_agent_that_does_not_answer_is_an_error():
    code, _, errors = await run("http://127.0.0.1:1")
    assert code == 3
    assert "cannot be reached" in errors
