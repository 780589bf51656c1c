"""What an agent keeps during a run reaches no other run."""

from __future__ import annotations

import asyncio
import threading

import pytest
from a2a.types import CancelTaskRequest
from a2a_adapters_strands import TeamAdapter, adapt
from strands import Agent, ToolContext, tool
from strands.agent.conversation_manager import (
    NullConversationManager,
    SlidingWindowConversationManager,
)
from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent, HookProvider
from strands.multiagent import Swarm

from a2a_adapters import TargetError, build_app
from a2a_adapters.plugin import Factory
from a2a_adapters.testing import connect, running, user_message
from tests.plugins.strands.support import Fake, calling, made, results, said, team
from tests.support.adapters import answer, ask
from tests.support.agents.isolation import check_apart


async def listen(messages):
    for _ in range(3):
        await asyncio.sleep(0)
    return " ".join(said(messages))


def listener(name="helper", **options):
    return made(Fake(listen), name=name, **options)


class Changing(HookProvider):
    """Changes the agent before a run, as only an agent of one conversation may be changed."""

    def register_hooks(self, registry):
        registry.add_callback(BeforeInvocationEvent, self.change)

    def change(self, event):
        agent, word = event.agent, said(event.messages)[-1]

        @tool(name=word.replace(".", "_"), description=word)
        def added():
            """Do nothing."""

        agent.system_prompt = f"{agent.system_prompt} {word}"
        agent.tool_registry.process_tools([added])
        agent.notes.append(word)
        agent.trace_attributes[word] = word


def changing():
    class Telling(Fake):
        async def stream(self, messages, tool_specs=None, system_prompt=None, **options):
            self._answer = lambda _: f"{system_prompt} {tool_specs} {vars(agent)}"
            async for event in super().stream(messages):
                yield event

    agent = made(Telling(listen), hooks=[Changing()])
    agent.notes = []
    return agent


def asking_another():
    """Return an agent whose tool is an agent that keeps its conversation."""

    def ask_desk(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling("desk", f"d{len(messages)}", input=said(messages)[-1])

    desk = listener("desk", description="Knows.")
    return made(Fake(ask_desk), tools=[desk.as_tool(preserve_context=True)])


class Keeping(SlidingWindowConversationManager):
    """Keeps what it hears, and stores and restores it as it is."""

    def __init__(self):
        super().__init__()
        self.notes = []

    def reduce_context(self, agent, e=None, **options):
        """Shorten nothing."""

    def apply_management(self, agent, **options):
        self.notes += said(agent.messages[-2:])

    def get_state(self):
        return {**super().get_state(), "notes": self.notes}

    def restore_from_session(self, state):
        self.notes = state["notes"]
        return super().restore_from_session(state)


def managed():
    manager = Keeping()
    return made(Fake(lambda messages: str([said(messages)[-1], *manager.notes])),
        conversation_manager=manager)  # fmt: skip


def acting():
    """Return an agent with a list that one of its tools knows, and another tool finds in it."""
    basket = []

    @tool(context=True)
    def add(item: str, tool_context: ToolContext) -> str:
        """Add an item."""
        tool_context.agent.basket.append(item)
        return "added"

    @tool
    def show() -> str:
        """Show the items."""
        return f"There are {basket}."

    def answer(messages):
        done = next(iter(results(messages).values()), "")
        if done == "added":
            return calling("show", f"s{len(messages)}")
        return done or calling("add", f"a{len(messages)}", item=said(messages)[-1])

    agent = made(Fake(answer), tools=[add, show])
    agent.basket = basket
    return agent


async def test_tools_see_what_the_agent_has():
    adapter = adapt(acting())
    for owner in ("ann", "bob", "ann"):
        assert answer(await ask(adapter, owner, owner=owner)) == f"There are ['{owner}']."


async def test_results_stay_as_they_were():
    kept = []

    class Watching(HookProvider):
        def register_hooks(self, registry):
            registry.add_callback(AfterInvocationEvent, self.keep)

        def keep(self, event):
            kept.append((event.agent.messages, event.result.metrics))

    adapter = adapt(listener(hooks=[Watching()]))
    for owner in ("ann", "bob"):
        await ask(adapter, f"hello {owner}", owner=owner)
    assert [said(messages) for messages, _ in kept] == [["hello ann"], ["hello bob"]]
    assert [metrics.cycle_count for _, metrics in kept] == [1, 1]


@pytest.mark.parametrize("make", [changing, asking_another, managed, acting])
async def test_an_agent_for_all_callers_is_restored(make):
    await check_apart(make())


async def test_an_agent_may_be_served_twice_and_be_a_tool():
    desk = listener("desk", description="Knows.")

    def ask_desk(messages):
        if done := results(messages):
            return next(iter(done.values()))
        return calling("desk", f"d{len(messages)}", input=said(messages)[-1])

    asking = made(Fake(ask_desk), tools=[desk.as_tool(preserve_context=True)])
    adapters = [adapt(desk), adapt(asking), adapt(desk), adapt(asking)]
    words = [f"{name}{turn}" for turn in range(3) for name in "abcd"]
    heard = await asyncio.gather(
        *(ask(adapters[n % 4], word, owner=word) for n, word in enumerate(words))
    )
    assert [answer(events).strip() for events in heard] == words
    assert not desk.messages


class Equal(Agent):
    """Is equal to others, and has no hash."""

    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, Equal)


async def test_an_agent_may_have_no_hash():
    adapter = adapt(Equal(model=Fake(listen), callback_handler=None))
    for owner in ("ann", "bob"):
        assert answer(await ask(adapter, owner, owner=owner)) == owner


def test_servers_in_several_threads_may_share_an_agent():
    agent = listener()
    both = threading.Barrier(2, timeout=60)

    def serve(word):
        async def talk():
            adapter = adapt(agent)
            await asyncio.to_thread(both.wait)
            asked = [ask(adapter, f"{word}{n}", owner=str(n)) for n in range(5)]
            return [answer(events) for events in await asyncio.gather(*asked)]

        heard[word] = asyncio.run(talk())

    heard: dict[str, list[str]] = {}
    threads = [threading.Thread(target=serve, args=[word]) for word in "ab"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert heard == {word: [f"{word}{n}" for n in range(5)] for word in "ab"}


async def test_a_tool_that_outlives_its_run_writes_to_no_other():
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    @tool(context=True)
    def keep(word: str, tool_context: ToolContext) -> str:
        """Keep a word."""
        if word == "ann":
            began.set()
            may_end.wait(60)
        agent = tool_context.agent
        agent.state.set("words", [*(agent.state.get("words") or []), word])
        agent.messages.append({"role": "user", "content": [{"text": word}]})
        ended.set()
        return str(agent.state.get("words"))

    async def call(messages):
        if said(messages)[0] != "ann":
            await asyncio.to_thread(ended.wait, 60)
        if done := results(messages):
            return f"{done} {said(messages)}"
        return calling("keep", word=said(messages)[-1])

    async with (
        running(build_app(made(Fake(call), tools=[keep]))) as url,
        connect(url, user="ann") as ann,
        connect(url, user="bob") as bob,
    ):
        events = ann.send_message(user_message("ann"))
        task_id = (await anext(events)).task.id
        await asyncio.to_thread(began.wait, 60)
        await ann.cancel_task(CancelTaskRequest(id=task_id))
        heard = []
        async for event in bob.send_message(user_message("bob")):
            may_end.set()
            heard.append(str(event))
    assert "bob" in "".join(heard)
    assert "ann" not in "".join(heard)


class Store:
    """A memory without an end."""

    name, description, max_search_results, extraction = "notes", None, None, None

    def __init__(self, *, writable):
        self.writable = writable
        self.notes = []

    async def search(self, query, options=None):
        return []

    async def add(self, content, metadata=None):
        self.notes.append(content)


def remembering(*, writable=True):
    return listener(
        "memo", description="Knows.", memory_manager={"stores": [Store(writable=writable)]}
    )


async def test_memories_of_all_callers_are_refused():
    for target in (remembering(), made(Fake(listen), tools=[remembering().as_tool()])):
        with pytest.raises(TargetError, match="agent_for"):
            build_app(target)
    build_app(remembering(writable=False))
    adapter = adapt(remembering(), agent_for=lambda _: remembering())
    assert answer(await ask(adapter, "hi")) == "hi"


DESK, MANAGER = listener("desk", description="Knows."), SlidingWindowConversationManager()


@pytest.mark.parametrize(
    "make",
    [
        lambda: DESK,
        lambda: made(Fake(listen), tools=[DESK.as_tool()]),
        lambda: listener(conversation_manager=MANAGER),
        lambda: team(DESK, listener("editor")),
        lambda: Swarm([DESK]),
    ],
)
def test_functions_that_reuse_an_agent_are_refused(make):
    with pytest.raises(TargetError, match=r"second time|could not be called"):
        build_app(make)


async def test_functions_that_reuse_an_agent_later_are_refused():
    pool = [listener() for _ in range(3)]
    left = [*pool, pool[0]]

    def make() -> Agent:
        return left.pop(0)

    adapter = adapt(Factory(make, make()))
    assert answer(await ask(adapter, "hi")) == "hi"
    with pytest.raises(TargetError, match="second time"):
        await ask(adapter, "hi", owner="ann")


async def test_an_agent_that_is_chosen_twice_is_refused():
    agents = {"ann": listener(), "bob": listener()}
    adapter = adapt(listener(), agent_for=lambda request: agents[request.owner])
    assert answer(await ask(adapter, "hi", owner="ann")) == "hi"
    with pytest.raises(TargetError, match="second time"):
        await ask(adapter, "ho", owner="ann", context_id="another")


async def test_an_async_function_that_reuses_an_agent_is_refused():
    member = listener("member")

    async def make():
        return team(member)

    adapter = TeamAdapter(Factory(make, await make()))
    with pytest.raises(TargetError, match="second time"):
        await ask(adapter, "hi")


def test_functions_may_reuse_what_has_no_state():
    model, manager = Fake(listen), NullConversationManager()
    build_app(lambda: made(model, conversation_manager=manager))
