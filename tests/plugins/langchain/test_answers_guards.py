"""Guards in unusual places, and text that looks as if they had accepted it."""

from __future__ import annotations

import functools
import hashlib
import importlib
from types import FunctionType
from typing import Annotated, Any, TypedDict

import pytest
from a2a.types import TaskState
from a2a_adapters_langchain import adapt
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ExtendedModelResponse,
    HumanInTheLoopMiddleware,
    LLMToolSelectorMiddleware,
    ModelResponse,
    ToolCallLimitMiddleware,
    after_agent,
    after_model,
    wrap_model_call,
    wrap_tool_call,
)
from langchain.agents.middleware.internal_call_transformer import (
    InternalCallTransformer,
    internal_call_metadata,
)
from langchain.agents.middleware.types import PrivateStateAttr
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableBinding, RunnableGenerator, RunnableLambda
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from pydantic import PrivateAttr

import a2a_adapters
from a2a_adapters import (
    BlockedError,
    Data,
    InputRequired,
    ServerOptions,
    TargetError,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.langchain.support import (
    Scripted,
    answer,
    ask,
    call,
    calling,
    deltas,
    only,
    reply,
    run,
)
from tests.plugins.langchain.test_answers import (
    AS_MESSAGES,
    BOMB,
    Weather,
    agent,
    approve,
    called,
    find,
    guard_agent,
    guard_model,
    guarded,
    invoked,
    line,
    masked,
    refuse_bombs,
    speaks_with,
    with_edges,
)
from tests.support.answers import Program, Recorded, check, in_each_way

NO = "I cannot help."
SAID = f"this is {BOMB}"


async def replace_bombs(self, model_request, handler):
    response = await handler(model_request)
    return AIMessage(NO) if "bomb" in response.result[0].text else response


def unnamed(hook):
    async def wrapped(self, model_request, handler):
        return await hook(self, model_request, handler)

    return wrapped


class Decorated(AgentMiddleware):
    awrap_model_call = unnamed(replace_bombs)


class Assigned(AgentMiddleware):
    awrap_model_call = replace_bombs


class Judged(AgentMiddleware):
    """Asks a model whether an answer is fine, out of the sight of streams."""

    transformers = (InternalCallTransformer,)

    async def _judge(self, message):
        judge = Scripted(script=["verdict: dangerous"])
        config = {"metadata": internal_call_metadata()}
        return "dangerous" in (await judge.ainvoke([HumanMessage(message.text)], config)).text


class JudgedMessages(Judged):
    transformers = (InternalCallTransformer,)

    async def aafter_model(self, state, runtime):
        last = state["messages"][-1]
        return {"messages": [AIMessage(NO, id=last.id)]} if await self._judge(last) else None


class JudgedCalls(Judged):
    transformers = (InternalCallTransformer,)

    async def awrap_model_call(self, model_request, handler):
        response = await handler(model_request)
        return AIMessage(NO) if await self._judge(response.result[0]) else response


class Around(BaseChatModel):
    """A chat model around another one, which checks what that says."""

    inner: Any

    @property
    def _llm_type(self):
        return "around"

    def bind_tools(self, tools, **kwargs):
        return self

    async def _checked(self, messages):
        said = await self.inner.ainvoke(messages)
        return NO if "bomb" in said.text else said.text

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        raise NotImplementedError

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        message = AIMessage(await self._checked(messages))
        return ChatResult(generations=[ChatGeneration(message=message)])


class StreamsAround(Around):
    """Streams what it has checked."""

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        yield ChatGenerationChunk(message=AIMessageChunk(await self._checked(messages)))


class Hidden(StreamsAround):
    """Keeps the other model to itself."""

    inner: Any = None
    _own: Any = PrivateAttr()

    def model_post_init(self, context):
        self._own, self.inner = self.inner, None

    async def _checked(self, messages):
        said = await self._own.ainvoke(messages)
        return NO if "bomb" in said.text else said.text


class PassedOn(BaseChatModel):
    """Passes chunks of the other model on, which that does not report itself."""

    inner: Any

    @property
    def _llm_type(self):
        return "passed on"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return self.inner._generate(messages, stop, run_manager, **kwargs)

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        async for chunk in self.inner._astream(messages, stop, run_manager, **kwargs):
            yield chunk


def around(kind=Around):
    return kind(inner=Scripted(script=[SAID]))


def workflow_around():
    model = around()

    @entrypoint()
    async def workflow(messages: list[AnyMessage]):
        return [await model.ainvoke(messages)]

    return workflow


async def called_with_messages(workflow):
    return (await workflow.ainvoke([HumanMessage("hello")]))[-1].text


class ModelOfModule(Scripted):
    """Is of a module of the user, whose name begins as those of LangChain do."""

    __module__ = "langchain_bot"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self._next(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(NO))])


class BindingOfModule(RunnableBinding):
    """Checks only what `ainvoke` returns."""

    __module__ = "langchain_bot"

    async def ainvoke(self, *args, **kwargs):
        said = await super().ainvoke(*args, **kwargs)
        return AIMessage(NO) if "bomb" in said.text else said


async def _speaks(state):
    return {"messages": (await helper.ainvoke(state))["messages"][-1:]}  # noqa: F821


def node_of_module():
    """A node that finds its agent in a global variable of a module of the user."""
    known = {"__name__": "langchain_bot", "helper": agent(SAID, middleware=[guard_model])}
    return line(FunctionType(_speaks.__code__, known))


def draft_that_is_no_output():
    """A node that may be the last writes a key that is not output; its guard answers."""

    class Topic(TypedDict):
        topic: str

    class Reply(TypedDict):
        answer: str

    class Letter(Topic, Reply):
        draft: str

    model = Scripted(script=[SAID])

    async def write(state):
        return {"draft": (await model.ainvoke(state["topic"])).text}

    builder = StateGraph(Letter, input_schema=Topic, output_schema=Reply)
    builder.add_node("write", write)
    builder.add_node("check", lambda _: {"answer": NO})
    builder.add_edge(START, "write").add_edge("check", END)
    builder.add_conditional_edges("write", lambda _: "check", ["check", END])
    return builder.compile()


async def call_letter(graph):
    return (await graph.ainvoke({"topic": "hello"}))["answer"]


def flagged(output):
    """A guard behind a node that may be the last keeps what it replaces under the same id."""

    class Flagged(MessagesState):
        flagged: AnyMessage

    async def speak(state):
        return {"messages": [await Scripted(script=[SAID]).ainvoke(state["messages"])]}

    def replace(state):
        last = state["messages"][-1]
        return {"messages": [AIMessage(NO, id=last.id)], "flagged": last}

    builder = StateGraph(Flagged, output_schema=MessagesState if output else Flagged)
    builder.add_node("speak", speak).add_node("replace", replace)
    builder.add_edge(START, "speak").add_edge("replace", END)
    builder.add_conditional_edges("speak", lambda _: "replace", ["replace", END])
    return builder.compile()


class Audited(AgentState):
    audit: Annotated[AnyMessage, PrivateStateAttr]


class Kept(AgentState):
    audit: AnyMessage


class KeepsCopies(AgentMiddleware):
    """Replaces a message, and keeps what it has replaced."""

    def __init__(self, schema):
        super().__init__()
        self.state_schema = schema

    async def awrap_model_call(self, model_request, handler):
        response = await handler(model_request)
        kept = Command(update={"audit": response.result[0]})
        replaced = ModelResponse(result=[AIMessage(NO)])
        return ExtendedModelResponse(model_response=replaced, command=kept)


@tool
def card() -> str:
    """Find a card."""
    return SAID


@after_model(can_jump_to=["model"])
def refuse_calls(state, runtime):
    last = state["messages"][-1]
    if "bomb" in last.text:
        refused = [ToolMessage("Refused.", tool_call_id=each["id"]) for each in last.tool_calls]
        return {"messages": refused, "jump_to": "model"}
    return None


@tool
def ask_person(question: str) -> str:
    """Ask."""
    return interrupt(question)


def said_by_model(state):
    said = (each.text for each in state["messages"] if isinstance(each, AIMessage))
    return "\n\n".join(filter(None, said))


async def check_at_end(chunks):
    text = ""
    async for chunk in chunks:
        text += chunk
        yield chunk
    refuse_bombs(text)


async def say_and_check(text):
    async for chunk in Scripted(script=[SAID]).astream(text):
        yield chunk.text
    raise BlockedError


@tool(return_direct=True)
def recipe() -> str:
    """Find a recipe."""
    return BOMB


@after_agent
def replace_result(state, runtime):
    last = state["messages"][-1]
    return {"messages": [last.model_copy(update={"content": "I cannot help."})]}


@after_agent
def remove_result(state, runtime):
    last = state["messages"][-1]
    return {"messages": [RemoveMessage(last.id), AIMessage("I cannot help.")]}


@after_agent
def rewrite_all(state, runtime):
    *others, _ = state["messages"]
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *others, AIMessage("I cannot help.")]}


@after_agent
def remove_all(state, runtime):
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]}


def selecting():
    """An agent whose middleware asks a model for tools, which says more than that."""
    chosen = calling(call("ToolSelectionResponse", tools=["find"]), text=SAID)
    selector = LLMToolSelectorMiddleware(model=Scripted(script=[chosen]))
    script = calling(call("find", query="cats"), text="Looking."), "fine"
    return agent(*script, tools=[find, card], middleware=[selector])


KEPT = {"blocked": BOMB, "is_kept": True}

PROGRAMS = [
    guarded("a hook has another name", Decorated(), is_kept=False),
    guarded("a hook is a function", Assigned(), is_kept=False),
    *(
        guarded(f"{type(judge).__name__} asks a model", judge, is_kept=is_kept)
        for judge, is_kept in ((JudgedMessages(), True), (JudgedCalls(), False))
    ),
    Program(
        name="a replaced message repeats the user",
        target=lambda: agent(lambda messages: messages[-1].text, middleware=[Assigned()]),
        bare=lambda graph: _asked(graph, SAID),
        messages=(SAID,),
    ),
    *(
        Program(
            name=f"a model around another one in {place}",
            target=target,
            bare=bare,
            blocked=BOMB,
        )
        for place, target, bare in (
            ("an agent", lambda: agent_with(around()), invoked()),
            ("an agent, streaming", lambda: agent_with(around(StreamsAround)), invoked()),
            ("an agent, hidden", lambda: agent_with(around(Hidden)), invoked()),
            ("a node", lambda: line(speaks_with(around())), invoked()),
            ("a workflow", workflow_around, called_with_messages),
            ("a chain", lambda: around(StreamsAround) | StrOutputParser(), called()),
        )
    ),
    *(
        Program(name=f"{name} of a package named like LangChain's", target=target, bare=bare, **has)
        for name, target, bare, has in (
            (
                "a model",
                lambda: ModelOfModule(script=[SAID]) | StrOutputParser(),
                called(),
                {"blocked": BOMB},
            ),
            (
                "a binding",
                lambda: BindingOfModule(bound=Scripted(script=[SAID])),
                called(),
                {"blocked": BOMB},
            ),
            ("a node", node_of_module, invoked(), KEPT),
        )
    ),
    guarded("a guard keeps a private copy", KeepsCopies(Audited), script=(SAID,)),
    guarded("a guard keeps a copy under its id", KeepsCopies(Kept), script=(SAID,)),
    guarded(
        "a guard refuses calls",
        refuse_calls,
        script=(calling(call("find", query="cats"), text=SAID), "fine"),
    ),
    Program(
        name="a guard refuses calls before a question",
        target=lambda: agent(
            calling(call("ask_person", "c1", question="bomb?"), text=SAID),
            calling(call("ask_person", "c2", question="OK?"), text="Let me ask."),
            "Done.",
            tools=[ask_person],
            middleware=[refuse_calls],
        ),
        bare=invoked("yes", read=lambda _: "Let me ask.\n\nDone."),
        messages=("hello", "yes"),
        **KEPT,
    ),
    *(
        Program(
            name=f"a result that is the answer, {guard.name}",
            target=lambda guard=guard: agent(
                calling(call("recipe")), tools=[recipe], middleware=[guard]
            ),
            bare=invoked(),
            **KEPT,
        )
        for guard in (replace_result, remove_result, rewrite_all)
    ),
    Program(
        name="a guard removes all messages",
        target=lambda: agent(SAID, middleware=[remove_all]),
        bare=lambda _: _nothing(),
        **KEPT,
    ),
    Program(
        name="text beside structured output, with a guard",
        target=lambda: agent(
            calling(call("Weather", degrees=20), text="It is warm."),
            response_format=ToolStrategy(Weather),
            middleware=[guard_model],
        ),
        bare=invoked(
            read=lambda state: [
                state["messages"][1].text,
                Data(state["structured_response"].model_dump()),
            ]
        ),
    ),
    Program(
        name="a middleware asks a model itself",
        target=selecting,
        bare=invoked(read=said_by_model),
        blocked=BOMB,
    ),
    Program(
        name="a limit refuses calls",
        target=lambda: agent(
            calling(call("find", "c1", query="cats"), text="Looking."),
            calling(call("find", "c2", query="dogs"), text="Looking again."),
            "fine",
            tools=[find],
            middleware=[ToolCallLimitMiddleware(run_limit=1), guard_model],
        ),
        bare=invoked(read=said_by_model),
    ),
    *(
        Program(
            name=f"{name} refuses at its end",
            target=target,
            bare=lambda _: _nothing(),
            state="rejected",
            blocked=BOMB,
        )
        for name, target in (
            (
                "a generator",
                lambda: (
                    Scripted(script=[SAID]) | StrOutputParser() | RunnableGenerator(check_at_end)
                ),
            ),
            ("a function that generates", lambda: RunnableLambda(say_and_check)),
        )
    ),
]
"""Programs whose blocked text is not even streamed."""

CORRECTED = [
    (draft_that_is_no_output, call_letter),
    (functools.partial(flagged, output=True), invoked()),
    (functools.partial(flagged, output=False), invoked()),
]


async def _nothing() -> None:
    """Return nothing: the call raises, or has no answer."""


async def _asked(graph, text):
    return (await graph.ainvoke({"messages": [("user", text)]}))["messages"][-1].text


def agent_with(model):
    return create_agent(model, [])


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_guards_are_found_in_unusual_places(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


@pytest.mark.parametrize(("target", "bare"), CORRECTED)
async def test_only_the_output_proves_that_text_was_accepted(target, bare):
    expected = await bare(target())
    app = build_app(target(), name="agent", options=ServerOptions(storage="memory:"))
    async with running(app) as url, connect(url) as client:
        assert answer_of(await send(client, user_message("hello"))) == expected == NO


async def test_earlier_turns_do_not_prove_that_text_was_accepted():
    lines = calling(call("card"), text=SAID), "fine", SAID
    served = agent(*lines, tools=[card], middleware=[AfterTheFirst()])
    app = build_app(served, name="agent", options=ServerOptions(storage="memory:"))
    async with running(app) as url, connect(url) as client:
        said = [
            answer_of(await send(client, user_message("hello", context_id="one"))) for _ in range(2)
        ]
    assert said == [f"{SAID}\n\nfine", NO]


class AfterTheFirst(AgentMiddleware):
    """Replaces messages without tool calls only."""

    async def awrap_model_call(self, model_request, handler):
        response = await handler(model_request)
        message = response.result[0]
        return AIMessage(NO) if "bomb" in message.text and not message.tool_calls else response


async def test_questions_do_not_tell_what_a_guard_has_masked():
    @after_model
    def mask(state, runtime):
        last = state["messages"][-1]
        masked = last.model_copy(update={"content": last.text.replace("1234", "****")})
        return {"messages": [masked]}

    script = calling(call("ask_person", question="OK?"), text="1234"), "Done."
    adapter = adapt(agent(*script, tools=[ask_person], middleware=[mask]))
    asked = only(await ask(adapter, "hi"), InputRequired)
    assert hashlib.sha256(b"1234").hexdigest()[:16] not in str(asked)
    assert answer(await run(adapter, reply(asked, "yes"))) == "****\n\nDone."


async def test_rejected_calls_keep_their_text():
    script = calling(call("find", query="cats"), text="Let me look."), "Never mind."
    asks = HumanInTheLoopMiddleware(interrupt_on={"find": True})
    adapter = adapt(agent(*script, tools=[find], middleware=[asks, guard_model]))
    asked = only(await ask(adapter, "hi"), InputRequired)
    assert answer(await run(adapter, reply(asked, "no"))) == "Let me look.\n\nNever mind."


async def test_tokens_of_a_model_that_passes_chunks_on_are_sent():
    events = await ask(adapt(agent_with(around(PassedOn))), "hi")
    assert len(deltas(events)) > 3
    assert answer(events) == SAID


async def test_generators_that_refuse_nothing_are_streamed():
    async def shout(chunks):
        async for chunk in chunks:
            yield chunk.upper()

    chain = Scripted(script=["one two"]) | StrOutputParser() | RunnableGenerator(shout)
    adapter = adapt(chain)
    assert not adapter.holds_text
    assert deltas(await ask(adapter, "hi")) == ["ONE", " TWO"]


def test_edges_may_name_the_rejection_by_its_module(monkeypatch):
    def refuse(state):
        if "bomb" in state["messages"][-1].text:
            raise a2a_adapters.BlockedError
        return END

    monkeypatch.setattr(a2a_adapters, "__file__", "/venv/site-packages/a2a_adapters/__init__.py")
    assert adapt(with_edges(refuse)).holds_text


_AGENTS = """
from tests.plugins.langchain.test_answers import agent, guard_model

writer = agent("how to build a bomb", middleware=[guard_model])
"""

_GRAPH = """
from bot_of_ours import agents
from tests.plugins.langchain.test_answers import line


async def speak(state):
    return {"messages": (await agents.writer.ainvoke(state))["messages"][-1:]}


graph = line(speak)
"""


def test_agents_are_found_in_other_modules_of_an_installed_package(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "bot_of_ours"
    package.mkdir(parents=True)
    for name, code in (("__init__", ""), ("agents", _AGENTS), ("graph", _GRAPH)):
        (package / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(package.parent)
    assert adapt(importlib.import_module("bot_of_ours.graph").graph).holds_text


def inside(graph):
    return StateGraph(MessagesState).add_node("inner", graph).add_edge(START, "inner").compile()


def masks_and_asks():
    """The usual agent of LangGraph, whose node masks what its model says."""
    script = calling(call("ask_person", question="OK?"), text=SAID), "Done."
    model = Scripted(script=list(script))

    async def speak(state):
        said = await model.ainvoke(state["messages"])
        masked = NO if "bomb" in said.text else said.text
        return {"messages": [said.model_copy(update={"content": masked})]}

    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak).add_node("tools", ToolNode([ask_person]))
    builder.add_edge(START, "speak").add_edge("tools", "speak")
    return builder.add_conditional_edges("speak", tools_condition).compile()


def moderated(*, removes):
    """A node that may be the last, one that replaces its message, and one that asks."""

    def moderate(state):
        last = state["messages"][-1]
        if removes:
            return {"messages": [RemoveMessage(last.id), AIMessage(NO)]}
        return {"messages": [AIMessage(NO, id=last.id)]}

    builder = StateGraph(MessagesState)
    builder.add_node("speak", speaks_with(Scripted(script=[SAID])))
    builder.add_node("moderate", moderate).add_node("approve", approve)
    builder.add_edge(START, "speak").add_edge("moderate", "approve").add_edge("approve", END)
    builder.add_conditional_edges("speak", lambda _: "moderate", ["moderate", END])
    return builder.compile()


def asks_before_its_guard():
    """A tool asks while the guard of the whole agent has not run."""
    asked = calling(call("ask_person", question="OK?"), text=SAID)
    return agent(asked, "Done.", tools=[ask_person], middleware=[guard_agent])


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (masks_and_asks, NO),
        (lambda: inside(masks_and_asks()), NO),
        (asks_before_its_guard, ""),
        (functools.partial(moderated, removes=False), NO),
        (functools.partial(moderated, removes=True), NO),
    ],
)
async def test_text_that_was_replaced_is_not_shown_with_a_question(target, shown):
    options = ServerOptions(storage="memory:", hold_text="always")
    app = Recorded(build_app(target(), name="agent", options=options))
    async with running(app) as url, connect(url) as client:
        asked = await send(client, user_message("hello"))
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    assert answer_of(asked) == shown
    assert b"bomb" not in app.sent
    adapter = adapt(target())
    assert adapter.holds_text or answer(await ask(adapter, "hi")) == shown


async def test_text_of_a_node_that_asks_is_shown_with_its_question():
    async def speak(state):
        said = await Scripted(script=["The draft."]).ainvoke(state["messages"])
        interrupt("Send it?")
        return {"messages": [said]}

    events = await ask(adapt(line(speak)), "hi")
    assert only(events, InputRequired)
    assert answer(events) == "The draft."


@wrap_model_call
def blocking_model_hook(model_request, handler):
    return handler(model_request)


@wrap_tool_call
def blocking_tool_hook(tool_request, handler):
    return handler(tool_request)


class Blocking(AgentMiddleware):
    def wrap_model_call(self, model_request, handler):
        return handler(model_request)


class Both(Blocking):
    async def awrap_model_call(self, model_request, handler):
        return await handler(model_request)


@pytest.mark.parametrize(
    ("middleware", "lacks"),
    [
        (blocking_model_hook, "blocking_model_hook lacks awrap_model_call"),
        (blocking_tool_hook, "blocking_tool_hook lacks awrap_tool_call"),
        (Blocking(), "Blocking lacks awrap_model_call"),
    ],
)
@pytest.mark.parametrize("place", [lambda graph: graph, inside, lambda graph: AS_MESSAGES | graph])
def test_hooks_that_are_not_async_are_refused(middleware, lacks, place):
    made = agent("hi", tools=[find], middleware=[middleware])
    with pytest.raises(TargetError, match=lacks):
        adapt(place(made))


async def test_text_beside_calls_stays_if_a_guard_changes_their_results_later():
    @after_model
    def mask(state, runtime):
        return {"messages": masked(state["messages"])}

    script = calling(call("find", query="cats"), text="Looking."), "fine"
    adapter = adapt(agent(*script, tools=[find], middleware=[mask]))
    assert answer(await ask(adapter, "hi")) == "Looking.\n\nfine"


def test_hooks_in_both_forms_are_served():
    made = agent("hi", tools=[find], middleware=[Both()])
    assert adapt(made).holds_text
