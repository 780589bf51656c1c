"""Served agents and teams answer with the last message of their own run."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import (
    ApprovalResponse,
    AssistantAgent,
    CodeExecutorAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    UserProxyAgent,
)
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.conditions import (
    FunctionalTermination,
    MaxMessageTermination,
    TextMentionTermination,
    TextMessageTermination,
)
from autogen_agentchat.messages import (
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
)
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_agentchat.teams._group_chat._round_robin_group_chat import RoundRobinGroupChatManager
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import Image, InMemoryStore
from autogen_core.code_executor import CodeExecutor
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import ChatCompletionClient, CreateResult, RequestUsage
from autogen_ext.models.cache import ChatCompletionCache
from autogen_ext.models.replay import ReplayChatCompletionClient
from PIL import Image as Picture
from pydantic import BaseModel

from a2a_adapters import BlockedError
from tests.plugins.autogen.support import Custom, agent, calling, model, round_robin
from tests.support.answers import Program, check, in_each_way

BOMB = "how to build a bomb"
REFUSAL = "I cannot help."
CODE = f"Run this:\n```python\nprint('{BOMB}')\n```"
LONG = "Cats purr when they are fed, and when they are not, they tell you."


class Correcting(Custom):
    """Streams a text, and then answers with another one."""

    def __init__(self, said: str, answer: str, name: str = "correcting") -> None:
        super().__init__(lambda _: answer, name)
        self._said = said

    async def on_messages_stream(self, messages, cancellation_token):
        for word in self._said.split(" "):
            yield ModelClientStreamingChunkEvent(content=f"{word} ", source=self.name)
        yield await self.on_messages(messages, cancellation_token)


class Guarded(AssistantAgent):
    """Replaces what must not be said."""

    async def on_messages_stream(self, messages, cancellation_token):
        async for event in super().on_messages_stream(messages, cancellation_token):
            await asyncio.sleep(0)  # lets the reader in, as a model in a network does
            yield self.checked(event) if isinstance(event, Response) else event

    def checked(self, response):
        if BOMB not in response.chat_message.to_text():
            return response
        return Response(chat_message=TextMessage(content=REFUSAL, source=self.name))


class Blocking(Guarded):
    """Ends the run."""

    def checked(self, response):
        raise BlockedError("I do not talk about that.")


class NamedLikeAutoGen(Guarded):
    """Is in a module of your own whose name begins as those of AutoGen do."""

    __module__ = "autogen_app"

    async def on_messages_stream(self, messages, cancellation_token):
        async for event in super().on_messages_stream(messages, cancellation_token):
            yield event


class GuardedWithoutStream(AssistantAgent):
    """Replaces what must not be said, unless it is streamed."""

    async def on_messages(self, messages, cancellation_token):
        await super().on_messages(messages, cancellation_token)
        return Response(chat_message=TextMessage(content=REFUSAL, source=self.name))


class GuardedRun:
    """Replaces what must not be said in the result of a run."""

    async def run_stream(self, **options):
        async for event in super().run_stream(**options):
            await asyncio.sleep(0)
            yield refused(event) if isinstance(event, TaskResult) else event


class GuardedAgentRun(GuardedRun, AssistantAgent): ...


class GuardedTeamRun(GuardedRun, RoundRobinGroupChat): ...


class LateTeam(RoundRobinGroupChat):
    """Passes on what its agents say when its run has ended."""

    async def run_stream(self, **options):
        for event in [event async for event in super().run_stream(**options)]:
            yield event


class BlockingManager(RoundRobinGroupChatManager):
    """Ends the run when an agent has answered."""

    async def update_message_thread(self, messages):
        await super().update_message_thread(messages)
        if any(BOMB in message.to_text() for message in messages):
            raise BlockedError("I do not talk about that.")


class Managed(RoundRobinGroupChat):
    """A team with a manager of its own."""

    def _create_group_chat_manager_factory(self, *args, **options):
        make = super()._create_group_chat_manager_factory(*args, **options)

        def manager():
            made = make()
            made.__class__ = BlockingManager
            return made

        return manager


class GuardedClient(ReplayChatCompletionClient):
    """Replaces what must not be said at the end of its stream."""

    async def create_stream(self, messages, **options):
        async for chunk in super().create_stream(messages, **options):
            await asyncio.sleep(0)
            if isinstance(chunk, CreateResult) and BOMB in chunk.content:
                chunk.content = REFUSAL
            yield chunk


class BlockingClient(ReplayChatCompletionClient):
    """Blocks what it gets, unless its answer is streamed."""

    async def create(self, messages, **options):
        if BOMB in str(messages):
            raise BlockedError
        return await super().create(messages, **options)


class ClientAround(ChatCompletionClient):
    """Replaces what another client says at the end of its stream."""

    component_type = "model"
    model_info = capabilities = property(lambda self: self._inner.model_info)

    def __init__(self, inner):
        self._inner = inner

    async def create_stream(self, messages, **options):
        async for chunk in self._inner.create_stream(messages, **options):
            await asyncio.sleep(0)
            yield replaced(chunk)

    async def create(self, messages, **options):
        return replaced(await self._inner.create(messages, **options))

    async def close(self): ...
    def actual_usage(self): ...
    def total_usage(self): ...
    def count_tokens(self, messages, **options): ...
    def remaining_tokens(self, messages, **options): ...


class ClientAroundSome(ClientAround):
    """Replaces what the first of several clients says."""

    _inner = property(lambda self: next(iter(self._clients)))

    def __init__(self, *clients):
        self._clients = clients


class ClientAroundNamed(ClientAround):
    """Replaces what one of several clients says."""

    _inner = property(lambda self: self._clients["first"])

    def __init__(self, **clients):
        self._clients = clients


class AgentAround(Custom):
    """Replaces what another agent of its name says."""

    def __init__(self, inner):
        super().__init__(lambda _: REFUSAL, inner.name)
        self._inner = inner

    async def on_messages_stream(self, messages, cancellation_token):
        async for event in self._inner.on_messages_stream(messages, cancellation_token):
            await asyncio.sleep(0)
            if not isinstance(event, Response):
                yield event
        yield await self.on_messages(messages, cancellation_token)


class TeamInside(Custom):
    """Passes on what a team says, and replaces its answer."""

    def __init__(self, team):
        super().__init__(lambda _: REFUSAL)
        self._team = team

    async def on_messages_stream(self, messages, cancellation_token):
        async for event in self._team.run_stream(task=list(messages)):
            if not isinstance(event, TaskResult):
                yield event
        yield await self.on_messages(messages, cancellation_token)


def refused(result):
    message = TextMessage(content=REFUSAL, source=result.messages[-1].source)
    return TaskResult(messages=[*result.messages[:-1], message])


def replaced(said):
    if isinstance(said, CreateResult):
        said.content = REFUSAL
    return said


def patched_client():
    """Return a client whose method is replaced on the object."""
    client = model(f"this is {BOMB}")
    client.create_stream = ClientAround(model(f"this is {BOMB}")).create_stream
    return client


def patched_agent():
    """Return an agent whose method is replaced on the object."""
    made = guarded(AssistantAgent)
    made.on_messages_stream = AgentAround(guarded(AssistantAgent)).on_messages_stream
    return made


def cached():
    """Return a framework's client around one that replaces."""
    return ChatCompletionCache(ClientAround(model(f"this is {BOMB}")), InMemoryStore())


def guarded(kind=Guarded, client=None, name="helper"):
    return kind(name, client or model(f"this is {BOMB}"), model_client_stream=True)


def thinking():
    """Return a model that thinks of what must not be said."""
    usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
    said = CreateResult(
        finish_reason="stop", content="a text", thought=BOMB, usage=usage, cached=False
    )
    return model(said)


def no_weapons(messages):
    """Block the last message of a team."""
    if any(BOMB in message.to_text() for message in messages):
        raise BlockedError
    return False


class PolicyError(BlockedError):
    """Is a kind of your own."""


def deny_all(messages):
    """Block all that names what must not be said, also in a call of a tool."""
    if any(BOMB in str(message.content) for message in messages):
        raise PolicyError
    return False


class Moderator(Custom):
    """Speaks after others, and blocks what they have said."""

    def __init__(self):
        super().__init__(lambda heard: no_weapons([TextMessage(content=heard[-1], source="x")]))


class Replacing(Custom):
    """Speaks after others, instead of them."""

    def __init__(self):
        super().__init__(lambda _: REFUSAL, "replacing")


class Narrating(Custom):
    """Sends two messages in one turn."""

    def __init__(self):
        super().__init__(lambda _: "and off we go", "narrator")

    async def on_messages_stream(self, messages, cancellation_token):
        yield TextMessage(content="once upon a time", source=self.name)
        yield await self.on_messages(messages, cancellation_token)


class Handing(Custom):
    """Hands over with a message."""

    def __init__(self, target):
        handoff = HandoffMessage(content=BOMB, source="one", target=target)
        super().__init__(lambda _: handoff, "one", [HandoffMessage])


class BlockingContext(UnboundedChatCompletionContext):
    """Blocks what its agent gets."""

    async def add_message(self, message):
        if BOMB in str(message.content):
            raise BlockedError
        await super().add_message(message)


class RunOfOld(AssistantAgent):
    """Has the arguments of older versions of AutoGen."""

    async def run(self, *, task=None, cancellation_token=None):
        return refused(await super().run(task=task, cancellation_token=cancellation_token))


class StreamOfOld(AssistantAgent):
    """Has the arguments of older versions of AutoGen."""

    async def run_stream(self, *, task=None, cancellation_token=None):
        options = {"task": task, "cancellation_token": cancellation_token}
        async for event in super().run_stream(**options):
            yield refused(event) if isinstance(event, TaskResult) else event

    async def run(self, **options):
        return [event async for event in self.run_stream(**options)][-1]


def select(messages):
    """Block before another agent is selected."""
    return "two" if no_weapons(messages) or len(messages) > 1 else "one"


def graph(condition):
    """Return two agents, and what leads from one to the other."""
    one, two = said_by("one", BOMB), said_by("two", LONG)
    edges = DiGraphBuilder().add_node(one).add_node(two).add_edge(one, two, condition=condition)
    return GraphFlow([one, two], graph=edges.build())


def said_by(name, *lines, **options):
    return agent(*lines, name=name, **options)


def filtered(name, inner):
    return MessageFilterAgent(name, inner, MessageFilterConfig(per_source=[]))


async def search(query: str) -> str:
    """Search."""
    return "a book"


class Line(BaseModel):
    line: str


def look() -> str:
    """Look around."""
    return "rain"


IMAGE = Image(Picture.new("RGB", (1, 1)))


def picture(_):
    return MultiModalMessage(content=["here", IMAGE], source="custom")


def pictures(_):
    return MultiModalMessage(content=[IMAGE, "here", IMAGE, "and there"], source="custom")


class CheckedPicture(Custom):
    """Is checked by a class of your own, so that its text is held back."""

    async def on_messages(self, messages, cancellation_token):
        return await super().on_messages(messages, cancellation_token)


def thinking_aloud(**options):
    """Return an agent whose model streams a text before it calls a tool."""
    client = model(LONG)
    replay = client.create_stream
    calls = []

    async def create_stream(messages, **options):
        calls.append(messages)
        if len(calls) == 1:
            yield "let me see "
            yield calling("look")
            return
        async for chunk in replay(messages, **options):
            yield chunk

    client.create_stream = create_stream
    return AssistantAgent("helper", client, tools=[look], model_client_stream=True, **options)


def structured():
    return agent('{"line": "a line"}', output_content_type=Line)


class NoExecutor(CodeExecutor):
    """Executes nothing."""

    async def execute_code_blocks(self, code_blocks, cancellation_token):
        raise BlockedError

    async def start(self): ...
    async def stop(self): ...
    async def restart(self): ...


def deny(request):
    return ApprovalResponse(approved=False, reason="no")


def block(request):
    raise BlockedError


def coding(*answers, approval_func, streams=True):
    """Return an agent that executes the code it writes, if that is approved."""
    return CodeExecutorAgent(
        "coder",
        NoExecutor(),
        model_client=model(*answers),
        model_client_stream=streams,
        approval_func=approval_func,
    )


def checked_team(*members, **options):
    """Return a team that a condition may block."""
    ends = FunctionalTermination(no_weapons) | TextMessageTermination("helper")
    return RoundRobinGroupChat([*members], termination_condition=ends, **options)


def chat(*members, ends="APPROVE", **options):
    ends = TextMentionTermination(ends)
    return RoundRobinGroupChat([*members], termination_condition=ends, max_turns=6, **options)


def as_file(image):
    return {"file": image.to_base64(), "type": "image/png"}


async def later():
    return guarded(Blocking)


async def asking_later():
    return round_robin(said_by("one", LONG), UserProxyAgent("human"), said_by("two", "done"))


def changing():
    """Return a function that makes another team when it is called for a run."""
    made = []

    def make():
        made.append(make)
        return (round_robin if len(made) < 3 else checked_team)(said_by("one", BOMB))

    return make


def answering(make, final):
    """Return a program's target whose agents with these names answer, or all."""
    return lambda: adapt(make, final=final)


async def bare(target):
    """Return the last message of a run."""
    message = (await target().run(task="hello")).messages[-1]
    match message:
        case StructuredMessage():
            return message.content.model_dump()
        case MultiModalMessage(content=items):
            return [each if isinstance(each, str) else as_file(each) for each in items]
    return message.to_text()


def program(name, make, **fields):
    return Program(name=name, target=lambda: make, **{"bare": bare, **fields})


def returns(value):
    async def answered(_):
        return value

    return answered


KEPT = {"blocked": BOMB, "is_kept": True}
"""The framework itself keeps what its models have said in their contexts."""
REJECTED = {"bare": returns(None), "state": "rejected", "blocked": BOMB}

PROGRAMS = [
    program("a class of agents replaces", guarded, **KEPT),
    program("a class of agents thinks", lambda: guarded(client=thinking()), **KEPT),
    program(
        "a class of agents replaces in a team",
        lambda: round_robin(agent("a draft", name="one"), guarded(name="two")),
        **KEPT,
    ),
    program(
        "a class of agents replaces its streamed result",
        partial(guarded, GuardedAgentRun),
        differs=REFUSAL,
        because="the run is streamed, and the class checks only those",
        **KEPT,
    ),
    program(
        "a class of teams replaces its result",
        lambda: GuardedTeamRun([agent(f"this is {BOMB}")], max_turns=1),
        **KEPT,
    ),
    program("a class of a module like AutoGen's", partial(guarded, NamedLikeAutoGen), **KEPT),
    program("a class of agents blocks", partial(guarded, Blocking), **REJECTED),
    program(
        "a class of agents blocks in a team", lambda: round_robin(guarded(Blocking)), **REJECTED
    ),
    program("a class of agents replaces whole messages", partial(guarded, GuardedWithoutStream)),
    program(
        "a class of clients replaces",
        lambda: guarded(AssistantAgent, GuardedClient([f"this is {BOMB}"])),
        blocked=BOMB,
    ),
    *(
        program(name, lambda make=make: guarded(AssistantAgent, make()), blocked=BOMB)
        for name, make in (
            ("a client around another replaces", lambda: ClientAround(model(f"this is {BOMB}"))),
            ("a client around several", lambda: ClientAroundSome(model(f"this is {BOMB}"))),
            ("a client by name", lambda: ClientAroundNamed(first=model(f"this is {BOMB}"))),
            ("a client of an object replaces", patched_client),
            ("a client in a cache replaces", cached),
        )
    ),
    program(
        "an agent around another replaces",
        lambda: AgentAround(guarded(AssistantAgent)),
        blocked=BOMB,
    ),
    program("an agent of an object replaces", lambda: round_robin(patched_agent()), blocked=BOMB),
    program("a condition blocks", lambda: checked_team(agent(f"this is {BOMB}")), **REJECTED),
    program(
        "a condition of a team in a team in a team blocks",
        lambda: round_robin(
            round_robin(checked_team(agent(f"this is {BOMB}"), name="inner"), name="outer")
        ),
        **REJECTED,
    ),
    program(
        "a condition blocks the team of a tool",
        lambda: agent(
            calling("inner", task="x"),
            LONG,
            tools=[
                TeamTool(
                    checked_team(agent(f"this is {BOMB}"), agent("never", name="other")),
                    name="inner",
                    description="Asks a team.",
                )
            ],
            max_tool_iterations=2,
            name="outer",
        ),
        **KEPT,
    ),
    program(
        "a team inside a class",
        lambda: TeamInside(round_robin(agent(f"this is {BOMB}"))),
        blocked=BOMB,
    ),
    program("code is denied", partial(coding, CODE, "No.", approval_func=deny), blocked=BOMB),
    program(
        "code that is not streamed is denied",
        partial(coding, CODE, "No.", approval_func=deny, streams=False),
        blocked=BOMB,
    ),
    program("code is blocked", partial(coding, CODE, approval_func=block), **REJECTED),
    program(
        "code is refused by its executor", partial(coding, CODE, approval_func=None), **REJECTED
    ),
    program(
        "a condition blocks a call of a tool",
        lambda: RoundRobinGroupChat(
            [agent(calling("search", query=BOMB), tools=[search])],
            termination_condition=FunctionalTermination(deny_all),
        ),
        **REJECTED,
    ),
    *(
        program(
            f"a condition blocks a handoff, to {target}",
            lambda target=target: Swarm(
                [Handing(target), said_by("two", LONG)],
                termination_condition=FunctionalTermination(deny_all) | MaxMessageTermination(3),
            ),
            **REJECTED,
        )
        for target in ("one", "two")
    ),
    *(
        Program(name=f"{name}, {final}", target=answering(make, final), **REJECTED)
        for final in ("all", ("one",))
        for name, make in (
            (
                "an agent of one's own blocks what another said",
                lambda: round_robin(said_by("one", BOMB), Moderator()),
            ),
            (
                "a context blocks what another agent said",
                lambda: round_robin(
                    said_by("one", BOMB), said_by("two", LONG, model_context=BlockingContext())
                ),
            ),
            (
                "a selector blocks",
                lambda: SelectorGroupChat(
                    [said_by("one", BOMB), said_by("two", LONG)],
                    model(),
                    selector_func=select,
                    max_turns=2,
                ),
            ),
            (
                "a class of clients blocks what another agent said",
                lambda: round_robin(
                    said_by("one", BOMB), AssistantAgent("two", BlockingClient([LONG]))
                ),
            ),
            (
                "a class of clients blocks before another agent is selected",
                lambda: SelectorGroupChat(
                    [said_by("one", BOMB), said_by("two", LONG), said_by("three", LONG)],
                    BlockingClient(["one", "two"]),
                    max_turns=2,
                ),
            ),
            ("an edge blocks", lambda: graph(lambda message: not no_weapons([message]))),
            (
                "an agent blocks when another was corrected",
                lambda: round_robin(
                    said_by("one", BOMB), guarded(name="two"), guarded(Blocking, name="three")
                ),
            ),
        )
    ),
    *(
        program(
            f"an agent of one's own replaces what another said, after {name}",
            lambda make=make: round_robin(make(), said_by("writer", BOMB), Replacing()),
        )
        for name, make in (
            ("two messages", Narrating),
            (
                "a tool of the same name",
                lambda: said_by(
                    "boss",
                    calling("writer", task="x"),
                    tools=[AgentTool(said_by("writer", "a draft"))],
                ),
            ),
        )
    ),
    *(
        program(
            f"an agent that filters messages, {final}",
            lambda final=final: adapt(
                lambda: round_robin(
                    filtered("filter", said_by("writer", LONG)), said_by("critic", "fine")
                ),
                final=final,
            ),
            bare=returns(answer),
        )
        for final, answer in (
            ("all", f"writer: {LONG}\n\ncritic: fine"),
            (("filter",), LONG),
            (("writer",), LONG),
        )
    ),
    Program(
        name="an async function makes one that blocks", target=lambda: adapt(later), **REJECTED
    ),
    Program(
        name="a function makes one that blocks, at last",
        target=lambda: adapt(changing(), final="all"),
        **REJECTED,
    ),
    program(
        "all messages before a question, and after it",
        lambda: adapt(
            lambda: round_robin(guarded(name="one"), UserProxyAgent("human"), said_by("two", LONG)),
            final="all",
        ),
        bare=returns([f"one: {REFUSAL}", f"two: {LONG}"]),
        messages=("hello", "yes"),
        **KEPT,
    ),
    program(
        "all messages before a question of an async function's team",
        lambda: adapt(asking_later, final="all"),
        bare=returns([f"one: {LONG}", "two: done"]),
        messages=("hello", "yes"),
    ),
    program(
        "all messages before a question of a class of teams, later",
        lambda: adapt(
            lambda: LateTeam(
                [said_by("one", LONG), UserProxyAgent("human"), said_by("two", "done")],
                max_turns=3,
            ),
            final="all",
        ),
        bare=returns(f"one: {LONG}\n\ntwo: done"),
        messages=("hello", "yes"),
    ),
    program("a run with the arguments of older versions", partial(guarded, RunOfOld), **KEPT),
    program("a stream with the arguments of older versions", partial(guarded, StreamOfOld), **KEPT),
    program("an agent", partial(agent, LONG)),
    program("a team", lambda: round_robin(agent("a draft", name="one"), agent(LONG, name="two"))),
    program(
        "a team that ends by any text",
        lambda: RoundRobinGroupChat(
            [agent(LONG)],
            termination_condition=TextMessageTermination() & MaxMessageTermination(2),
        ),
    ),
    program("a team in a team", lambda: round_robin(round_robin(agent(LONG), name="inner"))),
    program("a team that ends by text", lambda: chat(agent("no", "I APPROVE"))),
    program("an empty answer", lambda: Custom(lambda _: "")),
    program("structured output", structured),
    program("an image", lambda: Custom(picture, produces=[MultiModalMessage])),
    program("texts between images", lambda: Custom(pictures, produces=[MultiModalMessage])),
    program(
        "texts between images in a team",
        lambda: round_robin(agent("a draft"), Custom(pictures, produces=[MultiModalMessage])),
    ),
    program(
        "an image of a class of agents",
        lambda: CheckedPicture(picture, produces=[MultiModalMessage]),
    ),
    program(
        "all messages of a class of agents",
        lambda: adapt(
            lambda: round_robin(CheckedPicture(picture, produces=[MultiModalMessage]), agent(LONG)),
            final="all",
        ),
        bare=returns([f"custom: here\n\nhelper: {LONG}", as_file(IMAGE)]),
    ),
    *(
        program(
            f"all messages of a team, {name}",
            lambda kind=kind: adapt(
                lambda: round_robin(
                    agent(LONG, name="one"), kind("two", model(BOMB), model_client_stream=True)
                ),
                final="all",
            ),
            bare=returns(f"one: {LONG}\n\ntwo: {REFUSAL}"),
            blocked=BOMB,
            is_kept=True,
        )
        for name, kind in (("a guard", Guarded), ("a guard that hides", NamedLikeAutoGen))
    ),
    program("a manager of a team", lambda: Managed([agent(BOMB)], max_turns=1), **REJECTED),
    program(
        "a manager of a team in a team",
        lambda: round_robin(Managed([agent(BOMB)], name="inner", max_turns=1)),
        **REJECTED,
    ),
    program("a tool as last step", lambda: agent(calling("look"), tools=[look])),
    program("text before a tool call", partial(thinking_aloud, max_tool_iterations=2)),
    program("text before the last tool call", thinking_aloud),
    program("a correction", lambda: Correcting("half an", "an answer")),
    program("a correction in a team", lambda: round_robin(Correcting("half an", "an answer"))),
    program(
        "a user proxy",
        lambda: round_robin(agent("Go?"), UserProxyAgent("human"), agent(LONG, name="last")),
        bare=returns(LONG),
        messages=("hello", "yes"),
    ),
    program(
        "a user proxy in a team inside a class",
        lambda: TeamInside(round_robin(agent("Go?"), UserProxyAgent("human"))),
        bare=returns(REFUSAL),
        messages=("hello", "yes"),
    ),
    program(
        "the word that ends a team",
        lambda: chat(agent("done TERMINATE"), ends="TERMINATE"),
        differs="done",
        because="TERMINATE is for the team, see strip_terminate",
    ),
    program(
        "reasoning",
        partial(agent, f"<think>hm</think>{LONG}"),
        differs=LONG,
        because="reasoning is not part of answers",
    ),
]


@in_each_way
@pytest.mark.filterwarnings("ignore:No approval function")
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_run(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)
