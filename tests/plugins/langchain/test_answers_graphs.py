"""Graphs whose state has more than messages, whose nodes and edges check, or that ask agents."""

from __future__ import annotations

import asyncio
import functools
import operator
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Annotated, Literal, TypedDict

import pytest
from a2a.types import TaskState
from a2a_adapters_langchain import A2ALLM, A2AChatModel, A2ARunnable, adapt
from a2a_adapters_langchain.serving.content import message_extras
from langchain.agents.middleware import PIIMiddleware, after_model, before_model
from langchain.chat_models import init_chat_model
from langchain_core.caches import InMemoryCache
from langchain_core.documents import Document
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.output_parsers import PydanticOutputParser, StrOutputParser
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import (
    Runnable,
    RunnableBranch,
    RunnableConfig,
    RunnableGenerator,
    RunnableLambda,
    RunnablePassthrough,
    chain,
)
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache as NodeCache
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import CachePolicy, Command, Send, interrupt
from pydantic import BaseModel, field_validator

from a2a_adapters import BlockedError, Data, File, Output, TargetError, Text, build_app
from a2a_adapters.plugin import AnswerText
from a2a_adapters.testing import connect, running, send, user_message
from tests.plugins.langchain.support import Scripted, answer, ask, call, calling, deltas
from tests.plugins.langchain.test_answers import (
    BOMB,
    IMAGE,
    LOOK,
    THERE,
    agent,
    blocks,
    find,
    guard_model,
    invoked,
    line,
    refuse_bombs,
    says,
    speaks_with,
)
from tests.plugins.langchain.test_answers_guards import KEPT, ask_person
from tests.support.answers import Program, check, in_each_way


class Chat(MessagesState):
    title: str
    plan: list[str]


def title(state):
    return {"title": Scripted(script=["A fine title"]).invoke("Title?").text}


def summarize(state):
    summary = Scripted(script=["What was said."]).invoke("Summarize.").text
    return {"title": summary, "messages": [RemoveMessage(id=state["messages"][0].id)]}


def optional(node):
    """A node may follow the one that answers."""
    builder = StateGraph(Chat).add_node("speak", says("an answer")).add_node(node)
    builder.add_edge(START, "speak").add_edge(node.__name__, END)
    builder.add_conditional_edges("speak", lambda _: node.__name__, [node.__name__, END])
    return builder.compile()


def interview():
    """The last node writes what others have talked about into another key."""

    async def report(state):
        return {"title": (await Scripted(script=["The report."]).ainvoke("Sum it up.")).text}

    return line(says("an opinion"), report, state=Chat)


def just_ending():
    """The last node has no edge, and another one may end the run, too."""
    builder = StateGraph(MessagesState).add_node("triage", lambda _: None)
    builder.add_node("respond", agent("the long answer")).add_edge(START, "triage")
    builder.add_conditional_edges("triage", lambda _: "respond", ["respond", END])
    return builder.compile()


def conclude(state):
    return {"title": "The end."}


def graded_by_a_model(grader=None):
    grader = grader or Scripted(script=["yes, it is grounded"])

    async def route(state) -> Literal["speak", "__end__"]:
        grade = await grader.ainvoke(state["messages"])
        return END if "yes" in grade.text else "speak"

    builder = StateGraph(MessagesState).add_node("speak", says("an answer"))
    return builder.add_edge(START, "speak").add_conditional_edges("speak", route).compile()


async def speak_and_check(state):
    said = await Scripted(script=[BOMB]).ainvoke(state["messages"])
    refuse_bombs(said.text)
    return {"messages": [said]}


REFUSAL = "I cannot."


class Validator:
    def check(self, text):
        refuse_bombs(text)


class Unchecked(Scripted):
    """A model that checks only what it has not streamed."""

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        said = await super()._agenerate(messages, stop, run_manager, **kwargs)
        said.generations[0].message.content = "I cannot."
        return said


VALIDATORS = [Validator()]
MODELS = {"desk": SimpleNamespace(model=Unchecked(script=[BOMB]))}


async def speak_and_validate(state):
    said = await Scripted(script=[BOMB]).ainvoke(state["messages"])
    for each in VALIDATORS:
        each.check(said.text)
    return {"messages": [said]}


def asking_unchecked(how):
    """Return a graph whose node asks a model that checks only what it has not streamed."""
    desk = SimpleNamespace(model=Unchecked(script=[BOMB]))
    current = ContextVar("current", default=desk)

    async def in_a_mapping(messages):
        return await MODELS["desk"].model.ainvoke(messages)

    async def made(messages):
        return await Unchecked(script=[BOMB]).ainvoke(messages)

    async def by_name(messages):
        return await next(iter(vars(desk).values())).ainvoke(messages)

    async def of_the_context(messages):
        return await current.get().model.ainvoke(messages)

    @tool
    async def ask(query: str):
        """Ask a model."""
        return (await Unchecked(script=[BOMB]).ainvoke(query)).text

    async def of_a_tool(messages):
        return AIMessage(await ask.ainvoke(messages[-1].text))

    answer_to = locals()[how]

    async def speak(state):
        return {"messages": [await answer_to(state["messages"])]}

    return line(speak)


def speaks_or(refusal):
    """Return a graph whose node refuses what its model says, by a message of its own."""

    class Desk:
        def __init__(self):
            self.model = Scripted(script=[BOMB])

        async def message(self, state):
            said = await self.model.ainvoke(state["messages"])
            return {"messages": [AIMessage("I cannot.") if "bomb" in said.text else said]}

        async def constant(self, state):
            said = await self.model.ainvoke(state["messages"])
            return {"messages": [AIMessage(content=REFUSAL) if "bomb" in said.text else said]}

        async def pair(self, state):
            said = await self.model.ainvoke(state["messages"])
            return {"messages": [("ai", "I cannot.") if "bomb" in said.text else said]}

        async def mapping(self, state):
            said = await self.model.ainvoke(state["messages"])
            if "bomb" in said.text:
                return {"messages": [{"role": "assistant", "content": "I cannot."}]}
            return {"messages": [said]}

    return line(getattr(Desk(), refusal))


def footnoted():
    """The first node answers, and another one may follow."""
    builder = StateGraph(MessagesState).add_node("speak", speak_and_check)
    builder.add_node("note", lambda _: None).add_edge(START, "speak")
    return builder.add_conditional_edges("speak", lambda _: END, ["note", END]).compile()


def look(state):
    refuse_bombs(state["messages"][-1].text)


def checked_workflow():
    @entrypoint()
    async def work(messages: list):
        said = await Scripted(script=[BOMB]).ainvoke(messages)
        refuse_bombs(said.text)
        return said

    return work


@after_model(can_jump_to=["end"])
def answer_for_the_model(state, runtime):
    if "bomb" in state["messages"][-1].text:
        return {"messages": [AIMessage("I cannot help.")], "jump_to": "end"}
    return None


@before_model(can_jump_to=["end"])
def refuse_results(state, runtime):
    if "about bombs" in state["messages"][-1].text:
        return {"messages": [AIMessage("I cannot help.")], "jump_to": "end"}
    return None


@after_model
def forget_results(state, runtime):
    if state["messages"][-1].tool_calls:
        return None
    results = [each for each in state["messages"] if isinstance(each, ToolMessage)]
    return {"messages": [RemoveMessage(id=each.id) for each in results]}


@after_model
def watch(state, runtime):
    return None


def questions(*middleware):
    script = [calling(call("ask_person", f"c{n}", question=f"{n}?"), text=f"{n}.") for n in "1234"]
    return agent(*script, "The end.", tools=[ask_person], middleware=middleware)


class Checked(Runnable):
    """Checks what its model says."""

    def __init__(self):
        self.model = Scripted(script=[BOMB])

    def invoke(self, messages, config=None, **kwargs):
        raise NotImplementedError

    async def ainvoke(self, messages, config=None, **kwargs):
        said = await self.model.ainvoke(messages, config)
        return AIMessage("I cannot help.") if "bomb" in said.text else said


@after_model
def exchange_message(state, runtime):
    last = state["messages"][-1]
    if "bomb" in last.text:
        return {"messages": [RemoveMessage(id=last.id), AIMessage("I cannot help.")]}
    return None


def beside_one_another(*nodes):
    """Return a graph whose nodes run in the same step, which is its last one."""
    builder = StateGraph(MessagesState)
    for number, node in enumerate(nodes):
        builder.add_node(f"node{number}", node)
        builder.add_edge(START, f"node{number}").add_edge(f"node{number}", END)
    return builder.compile()


def ending_in_reverse():
    """The first node waits for the second one."""
    said = asyncio.Event()

    async def first(state):
        await said.wait()
        return await says("the first")(state)

    async def second(state):
        answered = await says("the second")(state)
        said.set()
        return answered

    return beside_one_another(first, second)


def branches(first, second):
    """Return a graph of two branches, of which the second has another node before its last one."""
    builder = StateGraph(MessagesState).add_node("first", first).add_node("second", second)
    builder.add_node("before", lambda _: None).add_edge(START, "first").add_edge(START, "before")
    builder.add_edge("before", "second").add_edge("first", END).add_edge("second", END)
    return builder.compile()


def named(graph, name):
    async def run(state):
        return await graph.ainvoke(state)

    run.__name__ = name
    return run


def all_said(state):
    """Return what all models have said, and all files, in order."""
    said = [each for each in state["messages"] if isinstance(each, AIMessage)]
    files = [part for each in said for part in message_extras(each)]
    return ["\n\n".join(each.text for each in said), *files]


def image(text, content):
    block = {"type": "image", "base64": content, "mime_type": "image/png"}
    return AIMessage([{"type": "text", "text": text}, block])


def checks(said):
    return AIMessage("I cannot help.") if "bomb" in said.text else said


class Checking(Runnable):
    """Checks a message, as the validators of Guardrails AI do."""

    def invoke(self, said, config=None, **kwargs):
        return checks(said)


class Moderation(Checking):
    """Is like the chains for moderation of LangChain's classic package."""

    __module__ = "langchain.chains.moderation"


CHECKS = RunnableLambda(checks)
BRANCH = RunnableBranch((lambda said: "bomb" in said.text, CHECKS), RunnablePassthrough())
DECIDES = RunnableBranch((lambda said: "bomb" in said.text, lambda _: "No."), lambda _: "Yes.")


@tool
def examine(text: str) -> str:
    """Check a text."""
    return checks(AIMessage(text)).text


class Approved(BaseRetriever):
    """Finds a text that may be said."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(checks(AIMessage(query)).text)]


def said_by(chain):
    """Return a node that says the text which a chain answers with."""

    async def speak(state):
        return {"messages": [message_of(await chain.ainvoke(state["messages"]))]}

    return speak


def message_of(text):
    return AIMessage(text)


def answering(check, model=None):
    """Return a graph whose node is a chain of a model and a check."""
    ask = RunnableLambda(lambda state: state["messages"]) | (model or Scripted(script=[BOMB]))
    builder = StateGraph(MessagesState).add_node("speak", ask | check)
    return builder.add_edge(START, "speak").compile()


class Harmless(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def refuse(cls, text):
        if "bomb" in text:
            raise ValueError("not allowed")
        return text


def asking(model):
    """Return a function, as a runnable, that asks a model and checks what it says."""

    @chain
    async def ask_and_check(messages):
        return checks(await model.ainvoke(messages))

    return ask_and_check


def asking_indirectly(how):
    """Return a runnable that asks a model by another function, method or generator."""
    model = Scripted(script=[BOMB])
    ask = model.ainvoke

    async def said(messages):
        return await model.ainvoke(messages)

    @chain
    async def function(messages):
        return checks(await said(messages))

    @chain
    async def bound_method(messages):
        return checks(await ask(messages))

    @chain
    async def events(messages):
        *_, last = [each async for each in model.astream_events(messages)]
        return checks(last["data"]["output"])

    async def transform(given):
        async for messages in given:
            yield checks(add_ai_message_chunks(*[each async for each in model.astream(messages)]))

    generator = RunnableGenerator(transform)
    return locals()[how]


class AsksAndChecks:
    """Is called by a runnable."""

    def __init__(self):
        self.model = Scripted(script=[BOMB])

    async def __call__(self, messages):
        return checks(await self.model.ainvoke(messages))


def in_a_class(how):
    """A node finds a chain in a class."""

    class Team:
        member = Scripted(script=[BOMB]) | CHECKS

        @classmethod
        async def ask(cls, messages):
            return await cls.member.ainvoke(messages)

        @staticmethod
        async def ask_statically(messages):
            return await Team.member.ainvoke(messages)

    member = Team.member

    @functools.lru_cache
    def found():
        return member

    async def attribute(state):
        return {"messages": [await Team.member.ainvoke(state["messages"])]}

    async def class_method(state):
        return {"messages": [await Team.ask(state["messages"])]}

    async def static_method(state):
        return {"messages": [await Team.ask_statically(state["messages"])]}

    async def cached_function(state):
        return {"messages": [await found().ainvoke(state["messages"])]}

    return line(locals()[how])


def checking_an_agent():
    given = RunnableLambda(lambda messages: {"messages": messages})
    return given | agent(BOMB) | RunnableLambda(lambda state: checks(state["messages"][-1]))


def replace_last(state):
    return {"messages": [AIMessage("I cannot help.", id=state["messages"][-1].id)]}


def agent_in_a_class():
    class Team:
        member = agent(BOMB, middleware=[guard_model])

    async def speak(state):
        return {"messages": (await Team.member.ainvoke(state))["messages"][-1:]}

    return line(speak)


@tool
async def consult(query: str) -> str:
    """Ask a chain that checks."""
    return (await CHECKING.ainvoke(query)).text


CHECKING = Scripted(script=[BOMB]) | RunnableLambda(checks)


def chosen_tools():
    """A chain checks in a tool, whose text is part of the answer."""
    asked = calling(call("consult", query="hello"))
    return adapt(agent(asked, "The end.", tools=[consult]), stream_nodes=["tools", "model"])


def chosen_task():
    """A chain checks in a task of a workflow, whose text is the answer."""

    @task
    async def ask(messages):
        return await CHECKING.ainvoke(messages)

    @entrypoint()
    async def work(messages: list):
        return await ask(messages)

    return adapt(work, stream_nodes=["ask"])


def chosen_task_with_function():
    """A function as a runnable checks in a task of a workflow, whose text is the answer."""
    asks = asking_indirectly("function")

    @task
    async def ask(messages):
        return await asks.ainvoke(messages)

    @entrypoint()
    async def work(messages: list):
        return await ask(messages)

    return adapt(work, stream_nodes=["ask"])


def chosen_node_that_refuses():
    """A node refuses its model's text, which is the answer, although another node follows."""

    async def stamp(state):
        return {}

    return adapt(line(speak_and_check, stamp), stream_nodes=["speak_and_check"])


async def says_with_schema(state):
    try:
        said = await PARSING.ainvoke(state["messages"])
    except OutputParserException:
        return {"messages": [AIMessage("I cannot help.")]}
    return {"messages": [AIMessage(said.text)]}


PARSING = Scripted(script=[f'{{"text": "{BOMB}"}}']) | PydanticOutputParser(
    pydantic_object=Harmless
)


def returns_chunks(change):
    model = Scripted(script=["It is sunny."])

    async def speak(state):
        chunks = [chunk async for chunk in model.astream(state["messages"])]
        return {"messages": [change(add_ai_message_chunks(*chunks))]}

    return speak


def chosen_node():
    """A chain checks in a node whose text is the answer, although another node follows."""

    async def stamp(state):
        return {}

    graph = line(speaks_with(Scripted(script=[BOMB]) | CHECKS), stamp)
    return adapt(graph, stream_nodes=["speak"])


class Named(Scripted):
    """Gives its own id to the first, empty chunk only, as OpenAI's Responses API does."""

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        yield ChatGenerationChunk(message=AIMessageChunk("", id=f"resp_{len(self.seen)}"))
        async for chunk in super()._astream(messages, stop, None, **kwargs):
            yield chunk


def asked():
    return interrupt("Anything else?")


def interrupted_conversation():
    """The graph stops before a node that does nothing."""
    builder = StateGraph(MessagesState).add_node("talk", says("Hello there."))
    builder.add_node("listen", lambda _: None).add_node("route", lambda _: None)
    builder.add_edge(START, "talk").add_edge("talk", "listen").add_edge("listen", "route")
    builder.add_conditional_edges("route", lambda _: "talk", ["talk", END])
    return builder.compile(interrupt_before=["listen"])


def conversation(talk=None):
    """A model and a person talk in turns."""
    talk = talk or says("Hello there.")

    def listen(state) -> Command[Literal["talk", "__end__"]]:
        said = asked()
        if said == "no":
            return Command(goto=END)
        return Command(goto="talk", update={"messages": [("user", said)]})

    builder = StateGraph(MessagesState).add_node("talk", talk).add_node("listen", listen)
    return builder.add_edge(START, "talk").add_edge("talk", "listen").compile()


async def _nothing(_):
    """Return nothing: the call raises, and the task has no answer."""


async def _returns(answer):
    return answer


class Survey(TypedDict):
    question: str
    answers: Annotated[list[str], operator.add]
    best: dict[str, str]


def surveyed(key, wrap):
    """Several nodes at once answer in a list, or in a mapping."""
    model = Scripted(script=["a long answer"])
    count = 2 if key == "answers" else 1

    async def reply(state):
        return {key: wrap((await model.ainvoke("?")).text)}

    builder = StateGraph(Survey).add_node("reply", reply).add_edge("reply", END)
    builder.add_conditional_edges(START, lambda _: [Send("reply", {})] * count, ["reply"])
    return builder.compile()


async def survey(graph, key):
    return {key: (await graph.ainvoke({"question": "hello"}))[key]}


def collected():
    """Nodes beside one another collect texts in a list, and nobody adds a message."""

    class Collected(MessagesState):
        parts: Annotated[list[str], operator.add]

    async def work(state):
        return {"parts": [(await Scripted(script=["a long part"]).ainvoke("?")).text]}

    builder = StateGraph(Collected).add_node("work", work).add_edge("work", END)
    builder.add_conditional_edges(START, lambda _: [Send("work", {})] * 2, ["work"])
    return builder.compile()


def asked_twice():
    """A node asks its model again, which says the same."""
    model = Scripted(script=["the same"])

    async def speak(state):
        await model.ainvoke(state["messages"])
        return {"messages": [await model.ainvoke(state["messages"])]}

    return line(speak)


def returning(pack):
    """A workflow returns what two models say."""

    @entrypoint()
    async def work(messages: list):
        model = Scripted(script=["the first", "the second"])
        said = [await model.ainvoke(messages), await model.ainvoke(messages)]
        return pack(said)

    return work


def returned(read):
    async def bare(graph):
        return read(await graph.ainvoke([HumanMessage("hello")]))

    return bare


PROGRAMS = [
    Program(
        name="texts in a list beside messages",
        target=collected,
        bare=invoked(read=lambda state: {"parts": state["parts"]}),
    ),
    Program(name="a model that says the same twice", target=asked_twice, bare=invoked()),
    *(
        Program(
            name=f"a workflow returns {name}",
            target=lambda pack=pack: returning(pack),
            bare=returned(read),
        )
        for name, pack, read in (
            ("a list", lambda said: [each.text for each in said], Data),
            (
                "a mapping",
                lambda said: {"it": said[1].text},
                lambda found: found,
            ),
            (
                "a mapping with messages",
                lambda said: {"messages": said[1:]},
                lambda state: state["messages"][-1].text,
            ),
            (
                "messages",
                lambda said: said,
                lambda said: "\n\n".join(each.text for each in said),
            ),
            ("the second message", lambda said: said[1], lambda said: said.text),
        )
    ),
    *(
        Program(
            name=f"texts in {key}",
            target=lambda key=key, wrap=wrap: adapt(
                surveyed(key, wrap), input=lambda request: {"question": request.text}
            ),
            bare=lambda _, key=key, wrap=wrap: survey(surveyed(key, wrap), key),
        )
        for key, wrap in (("answers", lambda text: [text]), ("best", lambda text: {"it": text}))
    ),
    *(
        Program(
            name=f"a model's text in another key, {node.__name__}",
            target=lambda node=node: optional(node),
            bare=invoked(),
        )
        for node in (title, summarize)
    ),
    Program(
        name="an answer in another key than messages",
        target=lambda: line(conclude, state=Chat),
        bare=invoked(read=lambda state: state["title"]),
    ),
    Program(
        name="a guard answers in place of a message with calls",
        target=lambda: agent(
            calling(call("find", query="cats"), text=BOMB),
            tools=[find],
            middleware=[answer_for_the_model],
        ),
        bare=invoked(),
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a guard answers in place of a result",
        target=lambda: agent(
            calling(call("find", query="about bombs")), tools=[find], middleware=[refuse_results]
        ),
        bare=invoked(),
        blocked="a book about bombs",
        is_kept=True,
    ),
    Program(
        name="a guard removes what tools have answered",
        target=lambda: agent(
            calling(call("find", query="cats"), text="Looking."),
            "fine",
            tools=[find],
            middleware=[forget_results],
        ),
        bare=lambda _: _returns("Looking.\n\nfine"),
    ),
    *(
        Program(
            name=f"four questions, {name}",
            target=lambda middleware=middleware: questions(*middleware),
            bare=lambda _, answered=answered: _returns(answered),
            messages=("hello", "a", "b", "c", "d"),
        )
        for name, middleware, answered in (
            ("streamed", (), ["1.", "2.", "3.", "4.", "The end."]),
            ("guarded", (watch,), ["1.\n\n2.\n\n3.\n\n4.\n\nThe end."]),
        )
    ),
    Program(
        name="a person is asked what else to talk about",
        target=conversation,
        bare=lambda _: _returns(["Hello there.", "Hello there."]),
        messages=("hello", "more", "no"),
    ),
    Program(
        name="a guarded agent and a person talk in turns",
        target=lambda: conversation(agent(BOMB, "Fine.", middleware=[guard_model])),
        bare=lambda _: _returns(["I cannot help.", "Fine."]),
        messages=("hello", "more", "no"),
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a conversation that is interrupted",
        target=interrupted_conversation,
        bare=lambda _: _returns(["Hello there.", "Hello there."]),
        messages=("hello", "yes"),
        state="input-required",
    ),
    *(
        Program(name=name, target=target, bare=invoked(), blocked=BOMB)
        for name, target in (
            ("a runnable of one's own in a node", lambda: line(speaks_with(Checked()))),
            (
                "a chain that checks in a node",
                lambda: line(speaks_with(Scripted(script=[BOMB]) | RunnableLambda(checks))),
            ),
            (
                "a class checks in a chain of a node",
                lambda: line(speaks_with(Scripted(script=[BOMB]) | Checking())),
            ),
            (
                "a class of LangChain checks in a chain of a node",
                lambda: line(speaks_with(Scripted(script=[BOMB]) | Moderation())),
            ),
            (
                "a branch checks in a chain of a node",
                lambda: line(speaks_with(Scripted(script=[BOMB]) | BRANCH)),
            ),
            (
                "a function that is retried checks in a chain of a node",
                lambda: line(speaks_with(Scripted(script=[BOMB]) | CHECKS.with_retry())),
            ),
            ("a node is a chain that checks a key", lambda: answering({"messages": CHECKS})),
        )
    ),
    *(
        Program(
            name=f"a node returns a chunk, {name}",
            target=lambda change=change: line(returns_chunks(change)),
            bare=invoked(),
        )
        for name, change in (
            ("its model's", lambda chunk: chunk),
            ("one of its own", lambda chunk: AIMessageChunk("It rains.")),
            ("one with the same text", lambda chunk: AIMessageChunk(chunk.text)),
        )
    ),
    Program(
        name="a parser validates in a chain of a node",
        target=lambda: line(says_with_schema),
        bare=invoked(),
        blocked=BOMB,
    ),
    *(
        Program(
            name=f"a chain checks in {target.__name__}, of stream_nodes",
            target=target,
            bare=lambda _, answered=answered: _returns(answered),
            blocked=BOMB,
        )
        for target, answered in (
            (chosen_node, "I cannot help."),
            (chosen_tools, "The end."),
            (chosen_task, "I cannot help."),
            (chosen_task_with_function, "I cannot help."),
        )
    ),
    *(
        Program(name=f"a function checks in a {name}", target=target, bare=invoked(), blocked=BOMB)
        for name, target in (
            ("runnable", lambda: line(speaks_with(asking(Scripted(script=[BOMB]))))),
            ("called object", lambda: line(speaks_with(RunnableLambda(AsksAndChecks())))),
            *(
                (f"runnable by a {how}", lambda how=how: line(speaks_with(asking_indirectly(how))))
                for how in ("function", "bound_method", "events", "generator")
            ),
        )
    ),
    *(
        Program(
            name=f"{name} checks in a chain of a node",
            target=lambda chain=chain: line(said_by(Scripted(script=[BOMB]) | chain)),
            bare=invoked(),
            blocked=BOMB,
        )
        for name, chain in (
            ("a tool", StrOutputParser() | examine),
            (
                "a retriever",
                StrOutputParser() | Approved() | (lambda found: found[0].page_content),
            ),
            ("a condition of a branch", DECIDES),
        )
    ),
    *(
        Program(
            name=f"a chain of a class in a node, {how}",
            target=lambda how=how: in_a_class(how),
            bare=invoked(),
            blocked=BOMB,
        )
        for how in ("attribute", "class_method", "static_method", "cached_function")
    ),
    Program(
        name="a chain checks what an agent says in a node",
        target=lambda: line(speaks_with(checking_an_agent())),
        bare=invoked(),
        **KEPT,
    ),
    Program(
        name="a node replaces calls that nobody has answered",
        target=lambda: line(says(calling(call("find", query="bombs"))), replace_last),
        bare=invoked(),
        blocked="bombs",
        is_kept=True,
    ),
    Program(
        name="a guarded agent of a class in a node",
        target=agent_in_a_class,
        bare=invoked(),
        **KEPT,
    ),
    Program(
        name="text beside calls of a model that names its messages",
        target=lambda: agent(
            calling(call("find", query="cats"), text="To bob@example.com."),
            "Done.",
            model=Named,
            tools=[find],
            middleware=[PIIMiddleware("email", apply_to_output=True)],
        ),
        bare=lambda _: _returns("To [REDACTED_EMAIL].\n\nDone."),
        blocked="bob@example.com",
        is_kept=True,
    ),
    Program(
        name="an edge asks a model",
        target=graded_by_a_model,
        bare=invoked(),
        blocked="yes, it is grounded",
    ),
    *(
        Program(
            name=f"guarded agents beside one another, {guard.name}",
            target=lambda guard=guard: beside_one_another(
                agent("The first.", middleware=[guard]),
                agent(BOMB, middleware=[guard]),
                agent("The third."),
            ),
            bare=invoked(read=all_said),
            blocked=BOMB,
            is_kept=True,
        )
        for guard in (guard_model, exchange_message)
    ),
    Program(
        name="a text after one with a file in between",
        target=lambda: beside_one_another(
            says(AIMessage([LOOK, IMAGE, THERE])), says("The end."), says("Really.")
        ),
        bare=invoked(
            read=lambda state: [
                *blocks(state["messages"][1]),
                *(Text(each.text) for each in state["messages"][2:]),
            ]
        ),
    ),
    Program(
        name="guarded agents in branches of different length",
        target=lambda: branches(
            agent(BOMB, middleware=[exchange_message]),
            agent("The second.", middleware=[guard_model]),
        ),
        bare=invoked(read=all_said),
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="guarded agents that stream_nodes names",
        target=lambda: adapt(
            line(
                named(agent(BOMB, middleware=[guard_model]), "first"),
                named(agent("The second.", middleware=[guard_model]), "second"),
            ),
            stream_nodes=["first", "second"],
        ),
        bare=lambda _: _returns("I cannot help.\n\nThe second."),
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="nodes beside one another that end in reverse",
        target=ending_in_reverse,
        bare=invoked(read=all_said),
    ),
    Program(
        name="images of nodes beside one another",
        target=lambda: branches(says(image("A cat.", "Y2F0")), says(image("A dog.", "ZG9n"))),
        bare=invoked(read=all_said),
    ),
    *(
        Program(
            name=name,
            target=target,
            bare=_nothing,
            state="rejected",
            blocked=BOMB,
            is_kept=is_kept,
        )
        for name, target, is_kept in (
            ("a node refuses its model's text", lambda: line(speak_and_check), False),
            ("a node that may be followed refuses", footnoted, False),
            ("a node asks objects in a list", lambda: line(speak_and_validate), False),
            ("a node of stream_nodes refuses", chosen_node_that_refuses, False),
            ("a later node refuses", lambda: line(says(BOMB), look), True),
            ("a workflow refuses", checked_workflow, False),
        )
    ),
    *(
        Program(
            name=f"a node asks a model that checks what it does not stream, {how}",
            target=lambda how=how: asking_unchecked(how),
            bare=invoked(),
            blocked=BOMB,
        )
        for how in ("in_a_mapping", "made", "by_name", "of_the_context", "of_a_tool")
    ),
    *(
        Program(
            name=f"a node answers with a {refusal} of its own",
            target=lambda refusal=refusal: speaks_or(refusal),
            bare=invoked(),
            blocked=BOMB,
        )
        for refusal in ("message", "constant", "pair", "mapping")
    ),
]


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


async def test_a_node_that_wraps_what_its_model_says_streams():
    async def speak(state):
        said = await Scripted(script=["one two three"]).ainvoke(state["messages"])
        return {"messages": [AIMessage(said.text, name="researcher")]}

    events = await ask(adapt(line(speak)), "go")
    assert len(deltas(events)) > 1


async def test_models_take_options_of_any_name():
    model = Scripted(script=["one two three"]).bind(model="large", decide=True, options={})

    async def speak(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    assert len(deltas(await ask(adapt(line(speak)), "go"))) > 1


def test_text_waits_for_checks_of_models_that_a_run_chooses(monkeypatch):
    make = "langchain.chat_models.base._init_chat_model_helper"
    monkeypatch.setattr(make, lambda *_, **__: Scripted(script=[BOMB]))
    model = init_chat_model("gpt", model_provider="openai", configurable_fields=("model",))
    assert adapt(answering({"messages": CHECKS}, model)).holds_text
    assert adapt(graded_by_a_model(model)).holds_text


class InAClass:
    """Keeps its model, its graph and what it checks in attributes."""

    def __init__(self, text):
        self.model = Scripted(script=[text])
        builder = StateGraph(MessagesState)
        builder.add_node("load", self.load).add_node("check", self.check).add_node(
            "talk", self.talk
        )
        builder.add_edge(START, "load").add_edge("load", "check").add_edge("check", "talk")
        builder.add_conditional_edges("talk", self.goes_on, {True: "talk", False: END})
        self.graph = builder.compile()

    def load(self, state):
        return {}

    def check(self, state):
        refuse_bombs(state["messages"][-1].text)

    async def talk(self, state):
        return {"messages": [await self.model.ainvoke(state["messages"])]}

    def goes_on(self, state):
        return bool(state["messages"][-1].tool_calls)


class Hypothetical(BaseRetriever):
    """Asks a model what to look for."""

    model: Scripted

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(self.model.invoke(query).text)]


def graded_documents():
    """An edge without annotation asks a model about what a tool has found."""
    grader = Scripted(script=["yes"])

    async def grade(state):
        return "answer" if "yes" in (await grader.ainvoke(state["messages"])).text else END

    async def ask_for_documents(state):
        return {"messages": [calling(call("find", query="cats"))]}

    builder = StateGraph(MessagesState).add_node("ask", ask_for_documents)
    builder.add_node("find", ToolNode([find])).add_node("answer", says("the long answer"))
    builder.add_edge(START, "ask").add_edge("ask", "find").add_edge("answer", END)
    return builder.add_conditional_edges("find", grade).compile()


def retrieving():
    retriever = Hypothetical(model=Scripted(script=["a page"]))

    async def retrieve(state):
        await retriever.ainvoke(state["messages"][-1].text)

    return line(retrieve, says("the long answer"))


def packing():
    pack = Scripted(script=["the long answer"]) | RunnableLambda(lambda m: {"messages": [m]})
    ask = RunnableLambda(lambda state: state["messages"]) | pack
    return StateGraph(MessagesState).add_node("speak", ask).add_edge(START, "speak").compile()


@pytest.mark.parametrize(
    "graph",
    [
        lambda: line(look, says("the long answer")),
        lambda: InAClass("the long answer").graph,
        retrieving,
        packing,
        just_ending,
        graded_documents,
    ],
)
async def test_text_is_streamed_if_no_code_gets_it(graph):
    assert deltas(await ask(adapt(graph()), "hi")) == ["the", " long", " answer"]


@pytest.mark.parametrize("cached", ["node", "model"])
async def test_an_answer_from_a_cache_is_that_of_its_message(cached):
    """It has the id of an earlier message, whose place it takes in the state."""
    model = Scripted(script=["an answer"], cache=InMemoryCache() if cached == "model" else None)

    async def speak(state):
        return {"messages": [await model.ainvoke("?")]}

    policy = CachePolicy(key_func=lambda _: "key") if cached == "node" else None
    builder = StateGraph(MessagesState).add_node("speak", speak, cache_policy=policy)
    adapter = adapt(builder.add_edge(START, "speak").compile(cache=NodeCache()))
    answers = [answer(await ask(adapter, "hi")) for _ in range(3)]
    assert answers == ["an answer"] * 3
    assert len(model.seen) == 1


def test_functions_that_make_graphs_are_blocking():
    async def make(config: RunnableConfig):
        return line(says("hi"))

    with pytest.raises(TargetError, match="must not be async"):
        build_app(make)


async def correcting(text: str):
    """Correct what it has said."""
    yield "the wrong words "
    yield AnswerText("the right words")


async def refusing(text: str):
    """Refuse what it has said."""
    yield "some words "
    raise BlockedError("Not here.")


async def attaching(text: str):
    """Answer with text, a file and data."""
    yield "Here it is."
    yield Output([File(content=b"a,b", media_type="text/csv", filename="a.csv"), Data({"a": 1})])


def node(agent):
    builder = StateGraph(MessagesState).add_node("remote", A2ARunnable(agent))
    return builder.add_edge(START, "remote").compile()


ASKING = [
    A2AChatModel,
    lambda agent: A2AChatModel(agent=agent) | StrOutputParser(),
    A2ALLM,
    A2ARunnable,
    node,
]


async def test_text_of_the_last_node_is_not_withdrawn_for_an_earlier_message():
    assert answer(await ask(adapt(interview()), "hi")).startswith("The report.")


@pytest.mark.parametrize("asking", ASKING)
async def test_corrections_of_an_agent_are_those_of_the_answer(asking):
    async with running(build_app(correcting)) as url:
        assert answer(await ask(adapt(asking(agent=url)), "hi")) == "the right words"


async def test_corrections_of_a_judge_are_not_the_answer():
    async with running(build_app(correcting)) as url:
        judge = A2AChatModel(agent=url)

        async def check(text):
            await judge.ainvoke(text)

        chain = Scripted(script=["an answer"]) | StrOutputParser() | RunnablePassthrough(check)
        assert answer(await ask(adapt(chain), "hi")) == "an answer"


@pytest.mark.parametrize("asking", ASKING)
async def test_a_message_that_an_agent_rejects_is_rejected_without_its_text(asking):
    async with (
        running(build_app(refusing)) as url,
        running(build_app(asking(agent=url))) as front,
        connect(front) as client,
    ):
        task = await send(client, user_message("hi"))
    assert task.status.state == TaskState.TASK_STATE_REJECTED
    assert "some words" not in str(task)


async def test_data_and_files_of_an_agent_are_in_the_answer_of_its_node():
    async with running(build_app(attaching)) as url:
        events = await ask(adapt(node(url)), "hi")
    parts = [part for event in events if isinstance(event, Output) for part in event.parts]
    assert [type(part) for part in parts] == [File, Data]
    assert answer(events) == "Here it is."
