"""Workflows that a function makes for every run: answers, questions, failures and isolation."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from a2a_adapters_agent_framework import WorkflowAdapter
from agent_framework import (
    Agent,
    AgentExecutor,
    Executor,
    FunctionInvocationContext,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    executor,
    handler,
    register_checkpoint_type,
    response_handler,
    tool,
)
from agent_framework_orchestrations import (
    ConcurrentBuilder,
    HandoffBuilder,
    MagenticBuilder,
    SequentialBuilder,
)
from pydantic import BaseModel

from a2a_adapters import Data, InputRequired, Progress, TargetError, build_app
from a2a_adapters.conversing import APPROVAL_CHOICES
from a2a_adapters.plugin import AgentFailedError, Factory, as_json
from a2a_adapters.testing import (
    InputRequiredContract,
    OnSqlite,
    connect,
    running,
    send,
    user_message,
)
from tests.plugins.agent_framework import support
from tests.plugins.agent_framework.support import Fake, agent, calling, made, results, said, team
from tests.plugins.sql.conftest import new_url
from tests.support.adapters import answer, ask, data, deltas, only, reply
from tests.support.agents import contracts
from tests.support.agents.isolation import check_apart, check_asking


def adapt(make):
    return WorkflowAdapter(Factory(make, make()))


def of_one(client, **options):
    """Return a function that makes a workflow of one agent."""

    def make() -> Workflow:
        return team(made(client, **options))

    return make


class TestWorkflows(contracts.Agents):
    support = support

    def made(self, answer, **options):
        return of_one(Fake(answer, **options))


class Asker(Executor):
    """Asks for a city."""

    @handler
    async def begin(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.request_info("which city?", str)

    @response_handler
    async def end(self, asked: str, city: str, ctx: WorkflowContext[str, str]) -> None:
        await ctx.yield_output(f"to {city}")


def asking() -> Workflow:
    return WorkflowBuilder(start_executor=Asker(id="asker")).build()


class TestAsking(InputRequiredContract):
    def asking(self):
        return asking


class TestAskingOnSqlite(OnSqlite, TestAsking):
    pass


async def test_a_sequence_answers_with_its_last_agent_token_by_token():
    def make() -> Workflow:
        members = [agent("a draft", name="writer"), agent("the end", name="editor")]
        return SequentialBuilder(participants=members).build()

    events = await ask(adapt(make), "hi", wants_progress=True)
    assert deltas(events) == ["the", " end"]
    steps = [event.text for event in events if isinstance(event, Progress)]
    assert steps[-2:] == ["writer", "editor"]


async def test_all_agents_of_a_concurrent_workflow_answer():
    def make() -> Workflow:
        members = [agent("one two", name="a"), agent("three", name="b")]
        return ConcurrentBuilder(participants=members).build()

    assert answer(await ask(adapt(make), "hi")) == "one two\n\nthree"


async def test_other_outputs_are_data():
    class Counter(Executor):
        @handler
        async def count(self, text: str, ctx: WorkflowContext[str, dict]) -> None:
            await ctx.yield_output({"letters": len(text)})

    def make() -> Workflow:
        return WorkflowBuilder(start_executor=Counter(id="counter")).build()

    assert as_json(data(await ask(adapt(make), "four"))) == [{"letters": 4}]


async def test_workflows_hear_the_conversation():
    client = Fake(lambda messages: "fine")
    async with running(build_app(of_one(client))) as url, connect(url) as caller:
        await send(caller, user_message("first", context_id="one"))
        await send(caller, user_message("second", context_id="one"))
        await send(caller, user_message("other", context_id="two"))
    assert [said(heard) for heard in client.heard] == [["first"], ["first", "second"], ["other"]]


async def test_tools_find_the_caller():
    @tool
    def me(ctx: FunctionInvocationContext) -> str:
        """Name the caller."""
        return f"{ctx.kwargs['a2a']['owner']} in {ctx.kwargs['a2a']['context_id']}"

    client = Fake(lambda messages: results(messages).get("c1") or calling("me"))
    events = await ask(adapt(of_one(client, tools=[me])), "hi", owner="ann", context_id="trip")
    assert answer(events) == "ann in trip"


def clerks(log):
    """Return a function that makes a workflow of two agents, each of which asks for an approval."""

    @tool(approval_mode="always_require")
    def book(city: str) -> str:
        """Book a trip."""
        log.append(city)
        return f"{city} booked"

    def clerk(city):
        client = Fake(lambda m: results(m).get(city) or calling("book", city, city=city))
        return Agent(client=client, name=f"clerk-{city}", tools=[book])

    def make() -> Workflow:
        return ConcurrentBuilder(participants=[clerk("Rome"), clerk("Oslo")]).build()

    return make


async def test_approvals_of_several_agents_are_asked_at_once_and_answered_in_turn():
    log = []
    adapter = adapt(clerks(log))
    events = await ask(adapter, "book")
    assert only(events, InputRequired).prompt.startswith("1. The agent wants to call book(")
    assert len(data(events)[-1]["response_schema"]["properties"]) == 2
    events = await reply(adapter, "yes")
    assert "Oslo" in only(events, InputRequired).prompt
    assert log == []
    assert "Rome booked" in answer(await reply(adapter, "no"))
    assert log == ["Rome"]


async def test_approvals_are_answered_by_id():
    log = []
    adapter = adapt(clerks(log))
    ids = data(await ask(adapter, "book"))[-1]["response_schema"]["properties"]
    await reply(adapter, Data(dict.fromkeys(ids, True)))
    assert sorted(log) == ["Oslo", "Rome"]


class Trip(BaseModel):
    city: str
    days: int


register_checkpoint_type(Trip)


async def test_replies_must_fit_the_type_of_the_request():
    class Planner(Executor):
        @handler
        async def begin(self, text: str, ctx: WorkflowContext[str, str]) -> None:
            await ctx.request_info({"wanted": "a trip"}, Trip)

        @response_handler
        async def end(self, asked: dict, trip: Trip, ctx: WorkflowContext[str, str]) -> None:
            await ctx.yield_output(f"{trip.days} days in {trip.city}")

    def make() -> Workflow:
        return WorkflowBuilder(start_executor=Planner(id="planner")).build()

    adapter = adapt(make)
    events = await ask(adapter, "go")
    [form] = data(events)[-1]["response_schema"]["properties"].values()
    assert list(form["properties"]) == ["city", "days"]
    events = await reply(adapter, Data({"city": "Rome", "days": "many"}))
    assert only(events, InputRequired).prompt.startswith("The message does not fit: days: ")
    events = await reply(adapter, Data({"city": "Rome", "days": 3}))
    assert answer(events) == "3 days in Rome"


async def test_agents_that_hand_over_ask_the_user():
    def make() -> Workflow:
        host = Agent(
            client=Fake(lambda messages: f"heard {said(messages)[-1]}"),
            name="host",
            require_per_service_call_history_persistence=True,
        )
        builder = HandoffBuilder(participants=[host]).with_start_agent(host)
        return builder.with_termination_condition(lambda messages: len(messages) > 3).build()

    adapter = adapt(make)
    events = await ask(adapter, "hi")
    assert only(events, InputRequired).prompt == "heard hi"
    assert answer(await reply(adapter, "Rome")) == "heard Rome"


def reviewed() -> Workflow:
    """Return a sequence whose drafts are reviewed."""
    writer = made(Fake(lambda messages: f"heard {said(messages)[-1]}"), name="writer")
    return SequentialBuilder(participants=[writer]).with_request_info().build()


def planned() -> Workflow:
    """Return a group whose plan is reviewed."""
    ledger = {
        "is_request_satisfied": True,
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": "writer",
        "instruction_or_question": "go",
    }
    reasoned = {key: {"answer": value, "reason": ""} for key, value in ledger.items()}

    def manage(messages):
        heard = said(messages)
        return json.dumps(reasoned) if "JSON" in heard[-1] else f"heard {'Rome' in heard}"

    return MagenticBuilder(
        participants=[agent("hello", name="writer")],
        manager_agent=made(Fake(manage), name="manager"),
        enable_plan_review=True,
    ).build()


@pytest.mark.parametrize(
    ("make", "draft", "revised", "ending"),
    [
        (reviewed, "heard hi", "heard Rome", "heard Rome"),
        (planned, "heard False", "heard True", "heard"),
    ],
)
async def test_reviews_are_approved_or_answered_with_words(make, draft, revised, ending):
    adapter = adapt(make)
    asked = only(await ask(adapter, "hi"), InputRequired).prompt
    assert draft in asked
    assert asked.endswith(APPROVAL_CHOICES)
    assert revised in only(await reply(adapter, "Rome"), InputRequired).prompt
    assert answer(await reply(adapter, "yes")).startswith(ending)


@dataclass
class Unknown:
    """A type that is not registered for checkpoints."""

    city: str


async def test_types_that_could_not_be_read_again_fail_the_task_at_once():
    class Planner(Executor):
        @handler
        async def begin(self, text: str, ctx: WorkflowContext[str, str]) -> None:
            ctx.set_state("seen", Unknown("Rome"))
            await ctx.request_info("sure?", bool)

        @response_handler
        async def end(self, asked: str, yes: bool, ctx: WorkflowContext[str, str]) -> None:
            await ctx.yield_output(asked)

    def make() -> Workflow:
        return WorkflowBuilder(start_executor=Planner(id="planner")).build()

    with pytest.raises(AgentFailedError) as raised:
        await ask(adapt(make), "go")
    assert "Unknown" in str(raised.value.__cause__)


async def test_a_function_may_be_async_and_names_the_workflow():
    async def greeter() -> Workflow:
        return WorkflowBuilder(start_executor=agent("hello")).build()

    adapter = WorkflowAdapter(Factory(greeter, await greeter()))
    assert adapter.describe().name == "greeter"
    assert answer(await ask(adapter, "hi")) == "hello"


def test_one_workflow_for_all_is_refused():
    for target in (asking(), of_one(Fake(lambda _: "x"))().as_agent()):
        with pytest.raises(TargetError, match="serve a function that returns"):
            build_app(target)
    with pytest.raises(TargetError, match="str"):
        WorkflowAdapter(Factory(lambda: "x", "x"))


class Noting(Executor):
    """Outputs all that it has heard."""

    def __init__(self):
        super().__init__(id="noting")
        self.notes: list[str] = []

    @handler
    async def note(self, text: str, ctx: WorkflowContext[None, str]) -> None:
        self.notes.append(text)
        await ctx.yield_output(str(self.notes))


@executor
async def shout(text: str, ctx: WorkflowContext[None, str]) -> None:
    await ctx.yield_output(text.upper())


def workflow_of(first) -> Workflow:
    return WorkflowBuilder(start_executor=first, output_from="all").build()


def test_functions_that_reuse_a_workflow_or_an_executor_are_refused():
    one, noting = workflow_of(Noting()), Noting()
    talking = AgentExecutor(agent("x"))
    for make in (
        lambda: one,
        lambda: workflow_of(noting),
        lambda: workflow_of(talking),
        lambda: workflow_of(WorkflowExecutor(one, id="inner")),
        WorkflowBuilder(start_executor=agent("x")).build,
    ):
        with pytest.raises(TargetError, match="second time"):
            build_app(make)


async def test_an_async_function_that_reuses_an_executor_is_refused():
    noting = Noting()

    async def make() -> Workflow:
        return workflow_of(noting)

    adapter = WorkflowAdapter(Factory(make, await make()))
    with pytest.raises(TargetError, match="second time"):
        await ask(adapter, "hi")


async def test_workflows_may_share_agents_and_executors_that_are_functions():
    listener = made(Fake(lambda messages: said(messages)[-1]))
    for member in (listener, shout):
        adapter = adapt(lambda member=member: workflow_of(member))
        for text in ("HI", "HO"):
            assert answer(await ask(adapter, text, context_id=text)) == text


async def test_what_an_executor_keeps_is_its_run_s():
    await check_apart(lambda: workflow_of(Noting()))


@pytest.mark.parametrize("engine", ["memory", "postgresql"])
async def test_callers_are_isolated(engine, tmp_path):
    await check_asking(new_url(engine, tmp_path), asking)
