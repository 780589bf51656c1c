"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from workflows import Context
from workflows.events import HumanResponseEvent, InputRequiredEvent

from a2a_adapters import current_request
from tests.plugins.llama_index import support
from tests.plugins.llama_index.flows import Booking, Flow
from tests.plugins.llama_index.support import adapt, waiting
from tests.support.adapters import answer, ask
from tests.support.agents.isolation import check_asking, check_repeating, listening
from tests.support.agents.state import check_state, hostile_values, keeping


async def repeat(ctx: Context, words: str) -> str:
    """Repeat the text, after a question in the first turn and after yielding to other runs."""
    if " " not in words:
        await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(msg="Sure?"))
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{current_request().owner}: {words}"


async def test_callers_of_one_agent_are_isolated():
    await check_repeating("memory:", listening(support, waiting(repeat)), questions=1)


@pytest.mark.thorough
async def test_callers_of_a_function_are_isolated(url):
    await check_repeating(url, lambda: listening(support, waiting(repeat)), questions=1)


@pytest.mark.thorough
async def test_callers_of_one_workflow_are_isolated(url):
    await check_asking(url, Booking())


async def test_runs_of_a_limited_workflow_take_turns():
    running = most = 0

    async def count(ctx, text):
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return text

    adapter = adapt(Flow(count, num_concurrent_runs=2))
    texts = [f"t{n}" for n in range(6)]
    answers = await asyncio.gather(*(ask(adapter, text, context_id=text) for text in texts))
    assert [answer(each) for each in answers] == texts
    assert most == 2


@pytest.mark.thorough
async def test_stored_state_names_no_class(url, tmp_path):
    kept = []

    async def keep(ctx: Context, value: dict[str, Any]) -> str:
        """Keep a value, after a question."""
        await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(msg="Sure?"))
        kept.append(value)
        return "kept"

    await check_state(url, tmp_path / "mark", lambda: keeping(support, waiting(keep)), kept)


async def test_values_of_callers_in_the_store_stay_as_they_are(tmp_path):
    values = [
        *hostile_values(tmp_path / "mark"),
        {"__is_pydantic": True, "qualified_name": "os.system", "value": {}},
        {"__is_component": True, "qualified_name": "os.system", "value": {}},
        {"__escaped__": {"__escaped__": 1}},
        {"class_name": "x", "qualified_name": "os.system"},
    ]

    async def keep(ctx, value):
        known = await ctx.store.get("known", default=[])
        await ctx.store.set("known", [*known, *([value] if value != "all" else [])])
        return {"known": known}

    adapter = adapt(Flow(keep))
    for value in values:
        await ask(adapter, support.said_as(value))
    events = await ask(adapter, "all")
    [output] = [each for each in events if hasattr(each, "parts")]
    assert output.parts[0].value["known"] == values
