"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from pydantic import PrivateAttr
from workflows import Context, Workflow, step
from workflows.events import HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent
from workflows.resource import Resource

from a2a_adapters import TargetError, build_app, current_request
from tests.plugins.llama_index import support
from tests.plugins.llama_index.flows import Booking, Flow
from tests.plugins.llama_index.support import adapt, waiting
from tests.support.adapters import answer, ask
from tests.support.agents.isolation import check_apart, check_asking, check_repeating, listening
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


class Notes:
    """A client that a resource makes."""

    def __init__(self):
        self.said = []


class Noting(Workflow):
    """Keeps what it hears in its attributes."""

    def __init__(self):
        super().__init__()
        self.user = ""
        self.notes = []
        self.known = {"users": {"last": ""}}
        self.show = self.shown

    def shown(self):
        return f"{self.user} {self.notes} {self.known}"

    @step
    async def note(self, ev: StartEvent, client: Annotated[Notes, Resource(Notes)]) -> StopEvent:
        self.user = self.known["users"]["last"] = ev.user_msg
        self.notes.append(ev.user_msg)
        client.said.append(ev.user_msg)
        for _ in range(3):
            await asyncio.sleep(0)
        return StopEvent(result=f"{self.show()} {client.said}")


class Outer(Workflow):
    """Runs a workflow that is one of its attributes."""

    def __init__(self):
        super().__init__()
        self.inner = Noting()

    @step
    async def ask(self, ev: StartEvent) -> StopEvent:
        return StopEvent(result=await self.inner.run(user_msg=ev.user_msg))


class Shop(FunctionAgent):
    """Has a method as a tool, and keeps its calls."""

    _bought: list[str] = PrivateAttr(default_factory=list)

    async def buy(self, item: str) -> str:
        """Buy something."""
        self._bought.append(item)
        for _ in range(3):
            await asyncio.sleep(0)
        return str(self._bought)


class Acting(Noting):
    """Notes by a function of a list that it has, too."""

    def __init__(self):
        notes = []
        self.actions = {"remember": notes.append}
        super().__init__()
        self.notes = notes

    def shown(self):
        self.actions["remember"](self.user)
        return super().shown()


def shop():
    def buy(messages):
        if done := support.results(messages):
            return next(iter(done.values()))
        return support.calling("buy", f"b{len(messages)}", item=support.said(messages)[-1])

    made = Shop(name="shop", description="Sells.", llm=support.Fake(buy))
    made.tools = [FunctionTool.from_defaults(made.buy)]
    return made


def team():
    return AgentWorkflow([shop()])


@pytest.mark.parametrize("make", [Noting, Outer, Acting, shop, team])
async def test_what_a_run_keeps_in_attributes_is_its_own(make):
    await check_apart(make())


async def test_functions_of_a_workflow_see_what_its_steps_see():
    bare = await Acting().run(user_msg="hi")
    adapter = adapt(Acting())
    for owner in ("ann", "bob"):
        assert answer(await ask(adapter, "hi", owner=owner)) == str(bare)


class Remembering(Noting):
    """Has something that holds a conversation in an attribute."""

    def __init__(self, memory):
        super().__init__()
        self.parts = {"memory": [memory]}

    def shown(self):
        return ""


def memory():
    return ChatMemoryBuffer(token_limit=1000, tokenizer_fn=str.split)


def chat_engine():
    return SimpleChatEngine(support.Fake(lambda _: "x"), memory(), [])


@pytest.mark.parametrize("make", [memory, chat_engine])
async def test_workflows_that_hold_one_conversation_are_refused(make):
    held = make()
    inside = Outer()
    inside.inner = Remembering(held)
    for target in (Remembering(held), inside):
        with pytest.raises(TargetError, match="keep it in"):
            adapt(target)
    with pytest.raises(TargetError, match="second time"):
        build_app(lambda: Remembering(held))
    await check_apart(lambda: Remembering(make()))


@pytest.mark.parametrize("make", [Noting, shop])
async def test_a_function_may_return_the_same_workflow(make):
    made = make()
    await check_apart(lambda: made)
