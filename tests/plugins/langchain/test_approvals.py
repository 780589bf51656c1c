"""Tool calls that a human approves, edits or rejects."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware

from a2a_adapters import Data, InputRequired
from tests.plugins.langchain.support import (
    Scripted,
    answer,
    call,
    calling,
    reply,
    run,
    send,
    sent,
)
from tests.plugins.langchain.test_interrupts import asked, question

HAS_MODES = "interrupt_mode" in signature(HumanInTheLoopMiddleware).parameters


MODES = [{}, {"interrupt_mode": "per_call"}] if HAS_MODES else [{}]


def approving(calls: int = 1, **options: Any):
    letters = [call("send", f"c{n}", to=f"Ann{n}") for n in range(calls)]
    model = Scripted(script=[calling(*letters), "done"])
    middleware = HumanInTheLoopMiddleware(interrupt_on={"send": True}, **options)
    return adapt(create_agent(model, tools=[send], middleware=[middleware])), model


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["approve", "Yes!", " ok "])
async def test_text_approves(mode, text):
    adapter, _ = approving(**mode)
    first = await asked(adapter, "write")
    assert "Tool: send" in first.prompt
    assert "approve, reject and a reason" in first.prompt
    assert answer(await run(adapter, reply(first, text))) == "done"
    assert sent == ["Ann0"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["reject: too early", "No, because too early"])
async def test_text_rejects_with_a_reason(mode, text):
    adapter, model = approving(**mode)
    first = await asked(adapter, "write")
    assert answer(await run(adapter, reply(first, text))) == "done"
    assert sent == []
    assert model.seen[-1][-1].text.endswith("too early")


@pytest.mark.parametrize("text", ["yes, but to Bob", "maybe", "approve it if you think so"])
async def test_other_text_is_not_an_approval(text):
    adapter, _ = approving()
    first = await asked(adapter, "write")
    (again,) = await run(adapter, reply(first, text))
    assert again.prompt.startswith("That is none of the decisions")
    assert sent == []
    assert answer(await run(adapter, reply(again, "approve"))) == "done"


@pytest.mark.parametrize(
    "data",
    [
        {"decisions": [{"type": "approve"}, {"type": "reject"}]},
        [{"type": "approve"}, {"type": "reject"}],
    ],
)
async def test_data_has_a_decision_for_each_action(data):
    adapter, _ = approving(2)
    first = await asked(adapter, "write")
    (again,) = await run(adapter, reply(first, Data({"type": "approve"})))
    assert "2 decisions" in again.prompt
    (again,) = await run(adapter, reply(first, Data([{"type": "approve"}, {"type": "delete"}])))
    assert "decisions of type: approve, edit, reject, respond" in again.prompt
    assert answer(await run(adapter, reply(again, Data(data)))) == "done"
    assert sent == ["Ann0"]


async def test_text_approves_all_actions():
    adapter, _ = approving(2)
    first = await asked(adapter, "write")
    await run(adapter, reply(first, "approve"))
    assert sorted(sent) == ["Ann0", "Ann1"]


async def test_a_decision_may_be_text_in_a_data_part():
    adapter, _ = approving()
    first = await asked(adapter, "write")
    assert answer(await run(adapter, reply(first, Data("approve")))) == "done"
    assert sent == ["Ann0"]


async def test_data_edits_an_action():
    adapter, _ = approving()
    first = await asked(adapter, "write")
    edit = {"type": "edit", "edited_action": {"name": "send", "args": {"to": "Bob"}}}
    await run(adapter, reply(first, Data(edit)))
    assert sent == ["Bob"]


@pytest.mark.skipif(not HAS_MODES, reason="this LangChain asks for all calls at once")
async def test_separate_approvals_are_requested_in_turn():
    adapter, _ = approving(2, interrupt_mode="per_call")
    first = await asked(adapter, "write")
    second = (await run(adapter, reply(first, "approve")))[-1]
    assert isinstance(second, InputRequired)
    assert answer(await run(adapter, reply(second, "reject"))) == "done"
    assert len(sent) == 1


async def test_respond_only_tools_accept_any_text():
    middleware = HumanInTheLoopMiddleware(
        interrupt_on={"question": {"allowed_decisions": ["respond"]}}
    )
    model = Scripted(script=[calling(call("question", text="Name?")), "hello"])
    adapter = adapt(create_agent(model, tools=[question], middleware=[middleware]))
    first = await asked(adapter, "hi")
    assert "your answer" in first.prompt
    assert answer(await run(adapter, reply(first, "no idea"))) == "hello"
    assert model.seen[-1][-1].text == "no idea"


async def test_disallowed_decisions_are_requested_again():
    middleware = HumanInTheLoopMiddleware(interrupt_on={"send": {"allowed_decisions": ["reject"]}})
    model = Scripted(script=[calling(call("send", to="Ann")), "done"])
    adapter = adapt(create_agent(model, tools=[send], middleware=[middleware]))
    first = await asked(adapter, "write")
    (again,) = await run(adapter, reply(first, "approve"))
    assert isinstance(again, InputRequired)
    assert sent == []
