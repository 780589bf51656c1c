"""Concurrent callers with several turns each and the same context ids."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import (
    AssistantAgent,
    BaseChatAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    SocietyOfMindAgent,
)
from autogen_agentchat.base import Response, TerminationCondition
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination
from autogen_agentchat.messages import StopMessage, TextMessage
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.tools import AgentTool
from autogen_core.memory import ListMemory, MemoryContent, MemoryMimeType
from autogen_core.models import CreateResult, RequestUsage, SystemMessage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

from a2a_adapters import ServerOptions, TargetError, build_app
from a2a_adapters.testing import answer_of, connect, running, user_message
from tests.plugins.autogen.support import agent, answer, ask, calling, model, round_robin
from tests.support.agents.isolation import check_apart, send

pytestmark = pytest.mark.timeout(5 * 60)

TURNS = 3


class Listening(ReplayChatCompletionClient):
    """Answers with all messages of users, after yielding to other runs."""

    def __init__(self):
        super().__init__([], model_info=model().model_info)

    async def create(self, messages, **_):
        for _ in range(3):
            await asyncio.sleep(0)
        said = [m.content for m in messages if isinstance(m, UserMessage) and m.source == "user"]
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        return CreateResult(finish_reason="stop", content=" ".join(said), usage=usage, cached=False)

    async def create_stream(self, messages, **_):
        result = await self.create(messages)
        for word in result.content.split(" "):
            yield f"{word} "
        yield result


class Calling(Listening):
    """Calls its tool with all messages."""

    async def create(self, messages, **_):
        received = await super().create(messages)
        return calling("inner", task=received.content)


def listener(name="listener"):
    return AssistantAgent(name, Listening(), model_client_stream=True)


def a_round_robin():
    return round_robin(agent(*["hm"] * 200, name="first"), listener())


def a_selector():
    return SelectorGroupChat(
        [listener(), agent("never", name="other")], model_client=model(*["listener"] * 200),
        max_turns=1,
        allow_repeated_speaker=True,
    )  # fmt: skip


def a_swarm():
    ends = HandoffTermination(target="user") | MaxMessageTermination(2)
    return Swarm([listener()], termination_condition=ends)


def a_graph():
    first, last = agent(*["hm"] * 200, name="first"), listener()
    builder = DiGraphBuilder()
    builder.add_node(first).add_node(last).add_edge(first, last)
    return GraphFlow([first, last], graph=builder.build())


def a_nested_team():
    return RoundRobinGroupChat([round_robin(listener())], max_turns=1)


def a_filter():
    return MessageFilterAgent(
        name="filter",
        wrapped_agent=listener(),
        filter=MessageFilterConfig(per_source=[PerSourceFilter(source="user")]),
    )


MAKERS = [listener, a_round_robin, a_selector, a_swarm, a_graph, a_nested_team]


async def talk(url, caller):
    """Run two conversations at once; return the messages and answers of each."""

    async def conversation(context_id):
        words = [f"{caller}.{context_id}.{turn}" for turn in range(TURNS)]
        for word in words:
            task = await send(client, user_message(word, context_id=context_id))
        return " ".join(words), answer_of(task).strip()

    async with connect(url, user=caller) as client:
        return await asyncio.gather(conversation("one"), conversation("two"))


async def check(make, is_shared, storage):
    """Assert that eight conversations of four callers hear only themselves."""

    def factory():
        return make()

    options = ServerOptions(storage=storage)
    async with running(build_app(make() if is_shared else factory, options=options)) as url:
        callers = (talk(url, f"caller{n}") for n in range(4))
        for conversations in await asyncio.gather(*callers):
            for said, received in conversations:
                assert received == said


@pytest.mark.parametrize("is_shared", [False, True], ids=["factory", "shared"])
async def test_conversations_are_isolated(is_shared, any_storage):
    await check(a_round_robin, is_shared, any_storage)


@pytest.mark.thorough
@pytest.mark.parametrize("make", [make for make in MAKERS if make != a_round_robin])
@pytest.mark.parametrize("is_shared", [False, True], ids=["factory", "shared"])
async def test_conversations_of_other_targets_are_isolated(make, is_shared):
    await check(make, is_shared, "memory:")


@pytest.mark.thorough
@pytest.mark.parametrize("make", [make for make in MAKERS if make != a_round_robin])
@pytest.mark.parametrize("is_shared", [False, True], ids=["factory", "shared"])
async def test_conversations_of_other_targets_are_isolated_on_databases(make, is_shared, url):
    await check(make, is_shared, url)


async def test_agents_behind_tools_and_filters_are_isolated():
    inner = AssistantAgent("inner", Listening())
    tool = AgentTool(inner, return_value_as_last_message=True)
    adapter = adapt(AssistantAgent("outer", Calling(), tools=[tool]))
    assert answer(await ask(adapter, "one", owner="ann")) == "one"
    assert answer(await ask(adapter, "two", owner="bob")) == "two"
    # The memory of the tool's agent belongs to the conversation.
    assert answer(await ask(adapter, "three", owner="ann")) == "one one three"


async def test_a_society_of_mind_is_isolated():
    society = SocietyOfMindAgent("society", round_robin(listener()), model(*["done"] * 4))
    adapter = adapt(society)
    for owner in ("ann", "bob", "ann"):
        assert answer(await ask(adapter, "hi", owner=owner)) == "done"


async def test_a_filtered_agent_is_isolated():
    adapter = adapt(a_filter())
    assert answer(await ask(adapter, "one", owner="ann")) == "one"
    assert answer(await ask(adapter, "two", owner="bob")) == "two"
    assert answer(await ask(adapter, "three", owner="ann")) == "one three"


def test_a_factory_that_reuses_objects_is_refused():
    writer = listener()
    ends = MaxMessageTermination(2)
    for made in (
        lambda: writer,
        lambda: RoundRobinGroupChat([writer], max_turns=1),
        lambda: RoundRobinGroupChat([listener()], termination_condition=ends),
        lambda: RoundRobinGroupChat(
            [listener()], termination_condition=ends | MaxMessageTermination(3)
        ),
    ):
        with pytest.raises(TargetError, match="second time"):
            adapt(made)


async def test_an_async_factory_that_reuses_objects_is_refused():
    writer = listener()

    async def make():
        return writer

    with pytest.raises(TargetError, match="second time"):
        await ask(adapt(make), "hi")


async def test_a_shared_object_is_warned_about_once(caplog):
    adapter = adapt(listener())
    for _ in range(2):
        await ask(adapter, "hi")
    assert caplog.text.count("one request at a time") == 1


class Noting(BaseChatAgent):
    """Answers with all that it has heard, and does not forget it when it is reset."""

    produced_message_types = (TextMessage,)

    def __init__(self, name="noting"):
        super().__init__(name, "Notes.")
        self.user = ""
        self.notes = []

    async def on_messages(self, messages, _):
        self.user = messages[-1].content
        self.notes.append(self.user)
        said = TextMessage(content=f"{self.user} {self.notes}", source=self.name)
        return Response(chat_message=said)

    async def on_reset(self, _):
        """Forget nothing."""


class Asking(Noting):
    """Asks an agent that is one of its attributes."""

    def __init__(self, inner):
        super().__init__("asking")
        self.helpers = {"inner": inner}
        self.team = None

    async def on_messages(self, messages, token):
        answer = await self.helpers["inner"].on_messages(messages, token)
        return Response(chat_message=TextMessage(content=answer.chat_message.content, source="me"))


class AskingAmong(Asking):
    """Asks an agent that is in a queue of a mapping, and has many documents."""

    def __init__(self, inner):
        super().__init__(None)
        self.documents = [[number] for number in range(5_000)]
        self.queues = {"inner": deque([inner])}

    async def on_messages(self, messages, token):
        self.helpers["inner"] = self.inner()
        return await super().on_messages(messages, token)

    def inner(self):
        return self.queues["inner"][0]


class Crew:
    def __init__(self, inner):
        self.inner = inner


@dataclass(slots=True)
class SlottedCrew:
    inner: object


class AskingOne(AskingAmong):
    """Asks an agent that is an attribute of some object."""

    def __init__(self, crew):
        super().__init__(None)
        self.crews = {"first": crew}

    def inner(self):
        return self.crews["first"].inner


class Platform:
    """Has agents of its own."""

    def __init__(self):
        self.agents = [listener()]

    def log(self, text): ...


def test_a_function_may_give_its_agents_a_method_of_what_has_others():
    platform = Platform()

    def make():
        made = Noting()
        made.log = platform.log
        return made

    assert adapt(make)


class Heard(TerminationCondition):
    """Ends a team with all that it has heard."""

    def __init__(self):
        self.heard = []

    terminated = False

    async def __call__(self, messages):
        self.heard += [each.content for each in messages]
        has_answer = any(each.source != "user" for each in messages)
        return StopMessage(content=str(self.heard), source="end") if has_answer else None

    async def reset(self):
        """Forget nothing."""


class Loading(Noting):
    """Stores what it keeps, and loads it as it is."""

    async def save_state(self):
        return {"notes": self.notes}

    async def load_state(self, state):
        self.notes = state["notes"]

    async def on_reset(self, _):
        self.notes.clear()


class Note:
    """Notes words in a list."""

    def __init__(self, notes):
        self._notes = notes

    def __call__(self, word):
        self._notes.append(word)


class Acting(Noting):
    """Notes by an object that has its list, too."""

    def __init__(self):
        super().__init__()
        self.note = Note(self.notes)

    async def on_messages(self, messages, token):
        self.note("also")
        return await super().on_messages(messages, token)


def a_noting_team():
    return RoundRobinGroupChat([Noting()], termination_condition=Heard())


def an_asking_team():
    member = Asking(listener())
    team = RoundRobinGroupChat([member], max_turns=1)
    member.team = team
    return team


def remembering():
    """Return an agent that keeps what it hears in a memory that it reads."""
    memory = ListMemory()

    async def remember(text: str) -> str:
        """Remember a text."""
        await memory.add(MemoryContent(content=text, mime_type=MemoryMimeType.TEXT))
        return text

    class Reading(Listening):
        async def create(self, messages, **_):
            received = await super().create(messages)
            known = [each.content for each in messages if isinstance(each, SystemMessage)]
            return calling("remember", text=" ".join([received.content, *known]))

    return AssistantAgent("reader", Reading(), tools=[remember], memory=[memory])


@pytest.mark.parametrize(
    "make",
    [
        Noting,
        Acting,
        a_noting_team,
        lambda: Asking(listener()),
        lambda: AskingAmong(listener()),
        lambda: AskingOne(Crew(listener())),
        lambda: AskingOne(SlottedCrew(listener())),
        lambda: AskingOne(SimpleNamespace(inner=listener())),
        an_asking_team,
        remembering,
    ],
)
async def test_what_one_object_keeps_in_attributes_is_restored(make):
    await check_apart(make())


@pytest.mark.parametrize("make", [Loading, lambda: round_robin(Loading())])
async def test_what_an_agent_loads_stays_as_it_was(make):
    adapter = adapt(make())
    for owner, heard in (("ann", "['hi']"), ("bob", "['hi']"), ("ann", "['hi', 'hi']")):
        assert answer(await ask(adapter, "hi", owner=owner)) == f"hi {heard}"


async def test_an_agent_may_have_no_hash():
    class Equal(Noting):
        __hash__ = None

        def __eq__(self, other):
            return isinstance(other, Equal)

    for target in (Equal(), round_robin(Equal())):
        assert answer(await ask(adapt(target), "hi")) == "hi ['hi']"


async def test_objects_of_an_agent_see_what_it_sees():
    [*_, bare] = (await Acting().run(task="hi")).messages
    adapter = adapt(Acting())
    for owner in ("ann", "bob"):
        assert answer(await ask(adapter, "hi", owner=owner)) == bare.content


async def test_an_agent_may_be_served_twice_and_be_part_of_a_team():
    member = listener()
    team = RoundRobinGroupChat([member], max_turns=1)
    adapters = [adapt(member), adapt(team), adapt(member), adapt(Asking(member))]
    words = [f"{name}{turn}" for turn in range(3) for name in "abcd"]
    heard = await asyncio.gather(
        *(ask(adapters[n % 4], word, owner=word) for n, word in enumerate(words))
    )
    assert [answer(events) for events in heard] == words


async def test_an_object_that_is_served_again_is_as_before():
    member = listener()
    for word in ("one", "two"):
        assert answer(await ask(adapt(member), word, owner=word)) == word


def test_a_factory_that_reuses_an_agent_in_an_attribute_is_refused():
    inner = listener()
    with pytest.raises(TargetError, match="AssistantAgent for the second time"):
        adapt(lambda: Asking(inner))


async def test_an_object_in_two_event_loops_is_refused():
    shared = agent("cats", "cats")
    adapter, again = adapt(shared), adapt(shared)
    assert answer(await ask(adapter, "one")) == "cats"
    for each in (adapter, again):
        with pytest.raises(TargetError, match="served in two event loops"):
            await asyncio.to_thread(asyncio.run, ask(each, "two"))
    assert answer(await ask(again, "three")) == "cats"
