"""Checks of one's own hold the answer back, wherever an agent or a team refers to them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import queue
import sys
from collections import deque
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import cycle
from types import MappingProxyType, ModuleType, SimpleNamespace

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import AssistantAgent, CodeExecutorAgent, UserProxyAgent
from autogen_agentchat.base import OrTerminationCondition, Response, TerminationCondition
from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_agentchat.tools import AgentTool
from autogen_core import InMemoryStore
from autogen_core.models import ChatCompletionClient, CreateResult
from autogen_core.tools import BaseStreamTool, BaseTool
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
from autogen_ext.models.cache import ChatCompletionCache
from pydantic import BaseModel, field_validator

from a2a_adapters import BlockedError
from tests.plugins.autogen.support import Custom, agent, calling, model, round_robin
from tests.plugins.autogen.test_answers import (
    BOMB,
    CODE,
    KEPT,
    LONG,
    REFUSAL,
    REJECTED,
    BlockingContext,
    ClientAround,
    guarded,
    look,
    no_weapons,
    program,
    said_by,
)
from tests.support.answers import check, in_each_way

SAID = f"this is {BOMB}"


class ConditionAround(TerminationCondition):
    """Blocks what others would let pass."""

    def __init__(self, *conditions):
        self._conditions = conditions

    @property
    def terminated(self):
        return any(each.terminated for each in self._conditions)

    async def __call__(self, messages):
        no_weapons(messages)
        return [await each(messages) for each in self._conditions][-1]

    async def reset(self):
        for each in self._conditions:
            await each.reset()


class BlockingOr(OrTerminationCondition):
    """Is a kind of AutoGen's own combination."""

    async def __call__(self, messages):
        no_weapons(messages)
        return await super().__call__(messages)


def ending(kind):
    """Return a team that ends by a condition around another one."""
    ends = kind(MaxMessageTermination(2))
    return round_robin(said_by("one", SAID), termination_condition=ends)


class Writer(Custom):
    """Passes on what a model says, and answers with something else."""

    _model = None

    def __init__(self, client=None):
        super().__init__(lambda _: REFUSAL)
        self._client = client

    @property
    def client(self):
        return self._client

    async def on_messages_stream(self, messages, cancellation_token):
        asked = [message.to_model_message() for message in messages]
        async for chunk in self.client.create_stream(asked):
            if not isinstance(chunk, CreateResult):
                yield ModelClientStreamingChunkEvent(content=chunk, source=self.name)
        yield await self.on_messages(messages, cancellation_token)


class AgentOfOthers(Custom):
    """Passes on what another agent says, and answers with something else."""

    def __init__(self):
        super().__init__(lambda _: REFUSAL)

    async def on_messages_stream(self, messages, cancellation_token):
        async for event in self.inner().on_messages_stream(messages, cancellation_token):
            if not isinstance(event, Response):
                yield event.model_copy(update={"source": self.name})
        yield await self.on_messages(messages, cancellation_token)


class OfQueue(AgentOfOthers):
    def __init__(self):
        super().__init__()
        self._queue = deque([agent(SAID, name="inner")])

    def inner(self):
        return self._queue[0]


class OfLists(AgentOfOthers):
    def __init__(self):
        super().__init__()
        self._by_role = {"writers": [agent(SAID, name="inner")]}

    def inner(self):
        return self._by_role["writers"][0]


@dataclass
class Dependencies:
    inner: object


class OfDependencies(AgentOfOthers):
    def __init__(self):
        super().__init__()
        self._deps = Dependencies(Dependencies(agent(SAID, name="inner")))

    def inner(self):
        return self._deps.inner.inner


class Lazy(AgentOfOthers):
    @cached_property
    def _made(self):
        return agent(SAID, name="inner")

    def inner(self):
        return self._made


class Importing(AgentOfOthers):
    _made = None

    def inner(self):
        if self._made is None:
            from autogen_agentchat.agents import AssistantAgent as Made

            self._made = Made("inner", model(SAID), model_client_stream=True)
        return self._made


def of_class():
    """Return an agent that has another one in an attribute of its class."""

    class OfClass(AgentOfOthers):
        team = (agent(SAID, name="inner"),)

        def inner(self):
            return self.team[0]

    return OfClass()


def of_variable():
    """Return an agent that names another one in its code."""
    other = agent(SAID, name="inner")

    class OfVariable(AgentOfOthers):
        def inner(self):
            return other

    return OfVariable()


def of_function():
    """Return an agent that gets another one from a function that keeps it."""
    other = agent(SAID, name="inner")

    @cache
    def kept():
        return other

    class OfFunction(AgentOfOthers):
        def inner(self):
            return kept()

    return OfFunction()


@dataclass(slots=True)
class Slotted:
    content: object


class OfPlace(AgentOfOthers):
    """Has another agent in an attribute of some kind."""

    def __init__(self, place, get):
        super().__init__()
        self._place, self._get = place, get

    def inner(self):
        return self._get(self._place)


def filled(pool):
    pool.put_nowait(agent(SAID, name="inner"))
    return pool


class Registry(dict):
    """Has an entry, and a default in an attribute."""

    def __init__(self, default):
        super().__init__(none=None)
        self.default = default


def spoken_by(other):
    yield other


PLACES = {
    "a registry": (Registry, lambda place: place.default),
    "a generator": (spoken_by, next),
    "slots": (Slotted, lambda place: place.content),
    "a namespace": (lambda other: SimpleNamespace(other=other), lambda place: place.other),
    "a mapping": (lambda other: MappingProxyType({"it": other}), lambda place: place["it"]),
    "a method": (lambda other: {"it": other}.__getitem__, lambda place: place("it")),
    "turns": (lambda other: cycle([other]), next),
    "turns of a mapping": (lambda other: cycle({"it": other}.values()), next),
    "a pool": (lambda _: filled(asyncio.Queue()), lambda place: place.get_nowait()),
    "a queue": (lambda _: filled(queue.Queue()), lambda place: place.get_nowait()),
    "documents": (
        lambda other: [list(map(Slotted, range(5_000))), Slotted(Slotted([other]))],
        lambda place: place[1].content.content[0],
    ),
}


RELATIVE = """
class OfModule(AgentOfOthers):
    def inner(self):
        from .agents import other
        return other
"""
NESTED = """
import app.agents

class OfModule(AgentOfOthers):
    def inner(self):
        return app.agents.other
"""


def of_module(monkeypatch, code):
    """Return an agent that finds another one in a module of its package."""
    package, agents, main = map(ModuleType, ["app", "app.agents", "app.main"])
    package.agents, agents.other = agents, agent(SAID, name="inner")
    main.AgentOfOthers, main.__package__ = AgentOfOthers, "app"
    for module in (package, agents, main):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(code, vars(main))
    return main.OfModule()


@pytest.mark.parametrize("code", [RELATIVE, NESTED])
def test_an_agent_of_a_module_is_found(monkeypatch, code):
    assert adapt(lambda: of_module(monkeypatch, code)).holds_text


def of_place(make, get):
    return OfPlace(make(agent(SAID, name="inner")), get)


class ClientOfDependencies(ClientAround):
    """Finds the other client in an attribute of an attribute."""

    _inner = property(lambda self: self._deps.inner)

    def __init__(self, inner):
        self._deps = Dependencies(inner)


class Coder(CodeExecutorAgent):
    """Looks at code before it is executed."""

    async def execute_code_block(self, code_blocks, cancellation_token):
        if any(BOMB in block.code for block in code_blocks):
            raise BlockedError
        return await super().execute_code_block(code_blocks, cancellation_token)


class Summing(AssistantAgent):
    """Overrides a private method that makes its messages."""

    @classmethod
    async def _call_llm(cls, *args, **options):
        async for event in super()._call_llm(*args, **options):
            if isinstance(event, CreateResult):
                event.content = REFUSAL
            yield event


class ChangingStore(InMemoryStore):
    """Changes what a model has said before it keeps it."""

    def set(self, key, value):
        value[-1].content = REFUSAL
        super().set(key, value)


class RefusingStore(InMemoryStore):
    """Refuses to keep what a model has said."""

    def set(self, key, value):
        raise BlockedError


def cached(store):
    return guarded(AssistantAgent, ChatCompletionCache(model(SAID), store))


class Context(BlockingContext):
    """Blocks what its own agent has said."""


def refuse_input(prompt):
    raise BlockedError("I do not ask for that.")


async def refuse_input_later(prompt, cancellation_token):
    raise BlockedError("I do not ask for that.")


class Verdict(BaseModel):
    verdict: str

    @field_validator("verdict")
    @classmethod
    def checked(cls, value):
        raise BlockedError


def blocks_summary(call, result):
    raise BlockedError


def critics():
    """Yield agents of AutoGen that block by a function or a model of one's own."""
    verdict = json.dumps({"verdict": "bad"})
    yield "a validator", lambda: agent(verdict, name="two", output_content_type=Verdict)
    yield (
        "a summary",
        lambda: agent(
            calling("look"), name="two", tools=[look], tool_call_summary_formatter=blocks_summary
        ),
    )
    yield "an input", lambda: UserProxyAgent("two", input_func=refuse_input)


class CleaningTool(AgentTool):
    """Cleans what its agent says."""

    def return_value_as_string(self, value):
        return super().return_value_as_string(value).replace(BOMB, "nothing")


def asking(tool):
    """Return an agent that asks another one by a tool."""
    return agent(calling("inner", task="x"), LONG, tools=[tool], max_tool_iterations=2)


PROGRAMS = [
    *(
        program(f"a condition around another, {kind.__name__}", partial(ending, kind), **REJECTED)
        for kind in (ConditionAround, BlockingOr)
    ),
    program("an agent around a client", lambda: Writer(model(SAID)), blocked=BOMB),
    *(
        program(f"an agent around another, {make.__name__}", partial(make), blocked=BOMB)
        for make in (OfQueue, OfLists, OfDependencies, Lazy, Importing, of_class, of_variable)
    ),
    program("an agent around another, of a function that keeps it", of_function, blocked=BOMB),
    *(
        program(f"an agent around another, in {name}", partial(of_place, *place), blocked=BOMB)
        for name, place in PLACES.items()
    ),
    program(
        "a client around another, in an attribute of an attribute",
        lambda: guarded(AssistantAgent, ClientOfDependencies(model(SAID))),
        blocked=BOMB,
    ),
    program(
        "code is blocked by a class",
        lambda: Coder(
            "coder",
            LocalCommandLineCodeExecutor(),
            model_client=model(CODE),
            model_client_stream=True,
        ),
        **REJECTED,
    ),
    program("a private method", partial(guarded, Summing), blocked=BOMB),
    program("a store changes", lambda: cached(ChangingStore()), blocked=BOMB),
    program("a store refuses", lambda: cached(RefusingStore()), **REJECTED),
    program("a context refuses", lambda: agent(SAID, model_context=Context()), **REJECTED),
    *(
        program(f"an input function blocks, {name}", make, **REJECTED)
        for function in (refuse_input, refuse_input_later)
        for name, make in (
            (f"{function.__name__}", lambda f=function: UserProxyAgent("human", input_func=f)),
            (
                f"{function.__name__} in teams",
                lambda f=function: round_robin(
                    round_robin(
                        said_by("one", BOMB), UserProxyAgent("two", input_func=f), name="inner"
                    )
                ),
            ),
        )
    ),
    *(
        program(
            f"{name} blocks what another agent said",
            lambda make=make: adapt(lambda: round_robin(said_by("one", BOMB), make()), final="all"),
            **REJECTED,
        )
        for name, make in critics()
    ),
    program(
        "a tool cleans what its agent says",
        lambda: asking(CleaningTool(agent(SAID, name="inner"))),
        **KEPT,
    ),
]


@in_each_way
@pytest.mark.filterwarnings("ignore:No approval function", "ignore:Using LocalCommandLine")
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_checks_come_before_the_answer(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


class WholeClient(ChatCompletionClient):
    """Does the whole work of a model itself."""

    component_type = "model"
    model_info = capabilities = model().model_info

    async def create_stream(self, messages, **options):
        yield "fine"

    async def create(self, messages, **options): ...
    async def close(self): ...
    def actual_usage(self): ...
    def total_usage(self): ...
    def count_tokens(self, messages, **options): ...
    def remaining_tokens(self, messages, **options): ...


class OwnTool(BaseTool[Verdict, Verdict]):
    """Asks another agent."""

    def __init__(self):
        super().__init__(Verdict, Verdict, "own", "Asks.")
        self._inner = agent(LONG, name="inner")

    async def run(self, args, cancellation_token):
        return args


class Streaming(BaseStreamTool[Verdict, Verdict, Verdict]):
    """Yields what it does."""

    def __init__(self, inner=None):
        super().__init__(Verdict, Verdict, "streaming", "Streams.")
        self._inner = inner

    async def run(self, args, cancellation_token): ...
    async def run_stream(self, args, cancellation_token): ...


class Asking(Custom):
    """Asks a model, and streams nothing."""

    def __init__(self):
        super().__init__(lambda _: LONG)
        self._client = model(LONG)


class OfProvider(Custom):
    """Streams what a provider says; its attribute has the name of a function here."""

    def __init__(self):
        super().__init__(lambda _: LONG)
        self.agent = "gpt-5"

    async def on_messages_stream(self, messages, cancellation_token):
        yield ModelClientStreamingChunkEvent(content=self.agent, source=self.name)
        yield await self.on_messages(messages, cancellation_token)


class OfOtherProvider(OfProvider):
    """Does the work of another class of one's own in another way."""

    async def on_messages_stream(self, messages, cancellation_token):
        yield await self.on_messages(messages, cancellation_token)


class CheckedProvider(OfProvider):
    """Checks what another class of one's own says."""

    async def on_messages_stream(self, messages, cancellation_token):
        async for event in super().on_messages_stream(messages, cancellation_token):
            yield event


class NamedProvider(OfProvider):
    """Checks what another class of one's own says, which it names."""

    async def on_messages_stream(self, messages, cancellation_token):
        async for event in OfProvider.on_messages_stream(self, messages, cancellation_token):
            yield event


class Named(AssistantAgent):
    """Has a client for something else, and methods that change no answer."""

    def __init__(self, name):
        super().__init__(name, model(LONG), model_client_stream=True)
        self._judge = model(LONG)

    async def on_reset(self, cancellation_token):
        await super().on_reset(cancellation_token)


@pytest.mark.parametrize(
    "make",
    [
        lambda: agent(
            LONG, tools=[look, OwnTool(), Streaming(), AgentTool(agent(LONG, name="inner"))]
        ),
        lambda: agent(LONG, tool_call_summary_formatter=blocks_summary),
        lambda: guarded(AssistantAgent, WholeClient()),
        lambda: guarded(AssistantAgent, ChatCompletionCache(model(LONG))),
        lambda: Custom(lambda _: LONG),
        Asking,
        OfProvider,
        OfOtherProvider,
        lambda: Named("named"),
        lambda: round_robin(agent(LONG), UserProxyAgent("two", input_func=refuse_input)),
        lambda: adapt(
            lambda: round_robin(
                agent(LONG, name="one", tools=[look, OwnTool()]),
                guarded(AssistantAgent, WholeClient(), "two"),
                UserProxyAgent("three"),
            ),
            final="all",
        ),
    ],
)
def test_what_checks_nothing_is_streamed(make):
    made = make()
    adapter = made if hasattr(made, "holds_text") else adapt(made)
    assert not adapter.holds_text


@pytest.mark.parametrize("kind", [CheckedProvider, NamedProvider])
def test_a_class_that_calls_another_one_may_change_its_answer(kind):
    assert adapt(kind()).holds_text


class Touchy:
    """May not be used at all."""

    @property
    def __class__(self):
        raise AssertionError

    def _refuse(self, *_):
        raise AssertionError

    __eq__ = __bool__ = __len__ = __call__ = __getattribute__ = _refuse
    __hash__ = None


class TouchyDict(dict):
    def values(self):
        raise AssertionError


class TouchyList(list):
    def __iter__(self):
        raise AssertionError


def lazy_module():
    """Return a module that is loaded when it is used."""
    spec = importlib.util.spec_from_file_location("lazy", "missing.py")
    module = importlib.util.module_from_spec(spec)
    importlib.util.LazyLoader(spec.loader).exec_module(module)
    return module


@dataclass
class Holding:
    it: object


class OfAgents(Custom):
    """Refers to something beside its work."""

    def __init__(self, held):
        super().__init__(lambda _: LONG)
        self._held = held


class OfModel(AssistantAgent):
    def __init__(self, held):
        super().__init__("of_model", model(LONG), model_client_stream=True)
        self._held = held


@pytest.mark.parametrize("kind", [OfAgents, OfModel])
@pytest.mark.parametrize("around", [Holding, Slotted, lambda held: [held], lambda held: held])
@pytest.mark.parametrize(
    "held", [Touchy, lambda: TouchyDict(a=1), lambda: TouchyList([1]), lazy_module]
)
def test_no_code_of_what_is_looked_at_is_run(kind, around, held):
    assert not adapt(lambda: kind(around(held()))).holds_text
    assert not adapt(lambda: round_robin(kind(around(held())))).holds_text


def test_a_lazy_module_is_not_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "lazy", lazy_module())

    class Importing(Custom):
        async def on_messages_stream(self, messages, cancellation_token):
            import lazy

            yield lazy.answer()

    assert not adapt(lambda: Importing(lambda _: LONG)).holds_text


def test_a_tool_that_streams_what_another_agent_says_may_change_it():
    assert adapt(lambda: agent(LONG, tools=[Streaming(agent(LONG))])).holds_text
