"""Which nodes pass on what their model says, and which may check it."""

from __future__ import annotations

import functools
import logging
from types import SimpleNamespace

import pytest
from a2a_adapters_langchain import adapt
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from a2a_adapters import build_app
from a2a_adapters.testing import running
from tests.plugins.langchain.support import Scripted

MODEL = Scripted(script=["one two three"])
NO = AIMessage("I cannot.")
PROMPT = ChatPromptTemplate.from_messages([("system", "Use {context}."), ("placeholder", "{said}")])
logger = logging.getLogger(__name__)


class Finds(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("cats")]


def joined(documents):
    return " ".join(each.page_content for each in documents)


def guarded(reply):
    return NO if "bomb" in reply.text else reply


def is_harmful(text):
    return "bomb" in text


async def ask(messages):
    return await MODEL.ainvoke([SystemMessage("Be kind."), *messages])


async def ask_and_check(messages):
    return guarded(await MODEL.ainvoke(messages))


def checks(function):
    @functools.wraps(function)
    async def checked(state):
        update = await function(state)
        if any(is_harmful(each.text) for each in update["messages"]):
            return {"messages": [NO]}
        return update

    return checked


class Desk:
    def __init__(self):
        self.model = MODEL
        self.ask = MODEL.ainvoke

    async def __call__(self, state):
        return {"messages": [await self.model.ainvoke(state["messages"])]}

    async def by_attribute(self, state):
        self.reply = await self.ask(state["messages"])
        return {"messages": [self.reply]}

    async def answers_or_not(self, state):
        reply = await self.model.ainvoke(state["messages"])
        return {"messages": [self.checked(reply)]}

    def checked(self, reply):
        return guarded(reply)


class Answered:
    """A message in a context, which refuses it at the end."""

    def __init__(self, reply):
        self.reply = reply

    def __enter__(self):
        return self.reply

    def __exit__(self, *_):
        guarded(self.reply)


# Nodes that pass on what their model says.


async def plain(state):
    return {"messages": [await MODEL.ainvoke(state["messages"])]}


def blocking(state):
    reply = MODEL.invoke(state["messages"])
    logger.info("said %d characters", len(reply.text))
    return {"messages": reply}


async def wrapped(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [HumanMessage(content=reply.text.strip(), name="researcher")]}


async def of_an_agent(state):
    result = await AGENT.ainvoke({"messages": state["messages"]})
    return Command(update={"messages": result["messages"][-1:]}, goto=END)


async def by_a_helper(state):
    if not state["messages"]:
        return {"messages": [AIMessage("Ask something.")]}
    reply = await ask(state["messages"])
    return {"messages": [*state["messages"], reply], "count": 1}


async def with_documents(state):
    found = RETRIEVER.invoke("cats")
    prompt = PROMPT.invoke({"context": joined(found), "said": state["messages"]})
    return {"messages": [await MODEL.ainvoke(prompt)]}


async def in_chunks(state):
    chunks = [chunk async for chunk in MODEL.astream(state["messages"])]
    return {"messages": [add_ai_message_chunks(*chunks)]}


async def in_texts(state):
    texts = []
    async for chunk in MODEL.astream(state["messages"]):
        logger.debug("a chunk")
        texts.append(chunk.text)
    return {"messages": [AIMessage("".join(texts))]}


async def added_up(state):
    whole = None
    async for chunk in MODEL.astream(state["messages"]):
        whole = chunk if whole is None else whole + chunk
    return {"messages": [whole]}


async def counted(state):
    reply = await MODEL.ainvoke(state["messages"])
    update = {"messages": [reply]}
    update["count"] = len(reply.text)
    if reply.tool_calls:
        return Command(update=update, goto=END)
    return update


async def with_examples(state):
    examples = [("user", "1 + 1"), ("ai", "2"), AIMessage("3", name="example")]
    return {"messages": [await MODEL.ainvoke([*examples, *state["messages"]])]}


AGENT = StateGraph(MessagesState).add_node(plain).add_edge(START, "plain").compile()
RETRIEVER = Finds()
GUARD = RunnableLambda(guarded)

PASSING = [
    *(plain, blocking, wrapped, of_an_agent, by_a_helper, with_documents),
    *(in_chunks, in_texts, added_up, counted, with_examples, Desk(), Desk().by_attribute),
    functools.partial(plain),
    lambda state: {"messages": [MODEL.invoke(state["messages"])]},
]


# Nodes that may refuse it or answer with something else.


async def by_a_function(state):
    return {"messages": [guarded(await MODEL.ainvoke(state["messages"]))]}


async def by_a_helper_that_checks(state):
    return {"messages": [await ask_and_check(state["messages"])]}


async def by_a_condition(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [NO if "bomb" in reply.text else reply]}


async def by_a_condition_of_a_function(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [reply]} if not is_harmful(reply.text) else {}


async def by_and_and_or(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [("bomb" in reply.text and NO) or reply]}


async def by_another_return(state):
    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        return {"messages": [NO]}
    return {"messages": [reply]}


async def by_saying_nothing(state):
    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        return {"messages": []}
    return {"messages": [reply]}


async def by_a_message_in_a_variable(state):
    reply = await MODEL.ainvoke(state["messages"])
    message = AIMessage(content="I cannot.")
    return {"messages": [reply, message][-1:]}


async def by_a_change(state):
    reply = await MODEL.ainvoke(state["messages"])
    reply.content = reply.text.replace("bomb", "****")
    return {"messages": [reply]}


async def by_a_changed_copy(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [reply.model_copy(update={"content": "I cannot."})]}


async def by_a_context(state):
    with Answered(await MODEL.ainvoke(state["messages"])) as reply:
        return {"messages": [reply]}


async def by_a_constructor(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [AIMessage(Answered(reply).reply.text)]}


async def by_another_value_of_a_variable(state):
    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        reply = NO
    return {"messages": [reply]}


async def by_another_text_of_a_variable(state):
    text = (await MODEL.ainvoke(state["messages"])).text
    if "bomb" in text:
        text = "I cannot."
    return {"messages": [AIMessage(text)]}


async def by_an_item(state):
    result = await AGENT.ainvoke({"messages": state["messages"]})
    if "bomb" in result["messages"][-1].text:
        result["messages"][-1] = NO
    return result


async def by_removing_it(state):
    said = [await MODEL.ainvoke(state["messages"])]
    if "bomb" in said[0].text:
        said.clear()
    return {"messages": said}


async def by_another_key(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [NO], "raw": reply}


async def by_asking_again(state):
    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        reply = await MODEL.ainvoke(["Again."])
    return {"messages": [reply]}


async def by_asking_until_it_is_good(state):
    for _ in range(3):
        reply = await MODEL.ainvoke(state["messages"])
        if "bomb" not in reply.text:
            break
    return {"messages": [reply]}


async def by_an_exception_that_it_imports(state):
    from a2a_adapters import BlockedError

    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        raise BlockedError("No.")
    return {"messages": [reply]}


async def by_an_unknown_function(state):
    check = state["check"]
    reply = await MODEL.ainvoke(state["messages"])
    check(reply)
    return {"messages": [reply]}


async def with_text_around(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [AIMessage(f"In short: {reply.text}")]}


async def by_a_map(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [*map(guarded, [reply])]}


async def by_another_model(state):
    draft = await MODEL.ainvoke(state["messages"])
    return {"messages": [await MODEL.ainvoke([*state["messages"], draft])]}


async def by_a_runnable(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [await GUARD.ainvoke(reply)]}


async def asks_out_of_sight(state):
    question = SimpleNamespace(ask=MODEL.ainvoke)
    return {"messages": [await question.ask(state["messages"])]}


def without_source():
    known = {"MODEL": MODEL}
    exec("async def speak(state): return {'messages': [await MODEL.ainvoke([])]}", known)
    return known["speak"]


CHECKING = [
    *(by_a_function, by_a_helper_that_checks, by_a_condition, by_a_condition_of_a_function),
    *(by_and_and_or, by_another_return, by_saying_nothing, by_a_message_in_a_variable),
    *(by_a_change, by_a_changed_copy, by_a_context, by_a_constructor, by_a_map),
    *(by_another_value_of_a_variable, by_another_text_of_a_variable, by_an_item, by_removing_it),
    *(by_another_key, by_asking_again, by_asking_until_it_is_good),
    *(by_an_exception_that_it_imports, by_an_unknown_function, with_text_around),
    *(by_another_model, by_a_runnable, asks_out_of_sight, without_source()),
    *(checks(plain), Desk().answers_or_not),
    functools.partial(by_a_condition),
    lambda state: {"messages": [guarded(MODEL.invoke(state["messages"]))]},
]


def name_of(node):
    return getattr(node, "__name__", type(node).__name__)


def graph_of(node):
    return StateGraph(MessagesState).add_node("speak", node).add_edge(START, "speak").compile()


@pytest.mark.parametrize("node", PASSING, ids=name_of)
def test_nodes_that_pass_on_what_their_model_says_are_streamed(node):
    assert not adapt(graph_of(node)).holds_text


@pytest.mark.parametrize("node", CHECKING, ids=name_of)
def test_text_of_nodes_that_may_check_it_is_held(node):
    assert adapt(graph_of(node)).holds_text


def test_workflows_are_read_like_nodes():
    @entrypoint()
    async def passes(messages: list):
        return [await MODEL.ainvoke(messages)]

    @entrypoint()
    async def refuses(messages: list):
        reply = await MODEL.ainvoke(messages)
        return "No." if "bomb" in reply.text else reply.text

    assert not adapt(passes).holds_text
    assert adapt(refuses).holds_text


def test_nodes_before_the_last_one_may_do_anything():
    builder = StateGraph(MessagesState).add_node("plan", by_a_condition).add_node("speak", plain)
    builder.add_edge(START, "plan").add_edge("plan", "speak")
    assert not adapt(builder.compile()).holds_text


async def test_the_log_names_the_nodes_whose_text_is_held(caplog):
    caplog.set_level(logging.INFO)
    async with running(build_app(graph_of(by_a_function), name="agent")):
        assert "text is held back: the code of speak may change or refuse it" in caplog.text
