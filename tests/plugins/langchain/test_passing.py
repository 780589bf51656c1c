"""Which nodes pass on what their model says, and which may check it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import logging
import re
import time
from collections.abc import Mapping
from types import MethodType, SimpleNamespace
from typing import Any, cast

import pytest
import tenacity
from a2a_adapters_langchain import adapt
from langchain_core.documents import Document
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.output_parsers import JsonOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Command, StreamWriter
from langsmith import traceable

from a2a_adapters import build_app
from a2a_adapters.testing import running
from tests.plugins.langchain.support import Scripted

MODEL = Scripted(script=["one two three"])
NO = AIMessage("I cannot.")
PROMPT = ChatPromptTemplate.from_messages([("system", "Use {context}."), ("placeholder", "{said}")])
logger = logging.getLogger(__name__)

PASSING: list[Any] = []
CHECKING: list[Any] = []


def passing(node):
    PASSING.append(node)
    return node


def checking(node):
    CHECKING.append(node)
    return node


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


class Careful(Desk):
    async def __call__(self, state):
        self.reply = await self.model.ainvoke(state["messages"])
        self.check()
        return {"messages": [self.reply]}

    def check(self):
        if "bomb" in self.reply.text:
            self.reply = NO


class Derived(Desk):
    async def __call__(self, state):
        update = await super().__call__(state)
        return {"messages": [NO]} if "bomb" in update["messages"][0].text else update


class Answered:
    """A message in a context, which refuses it at the end."""

    def __init__(self, reply):
        self.reply = reply

    def __enter__(self):
        return self.reply

    def __exit__(self, *_):
        guarded(self.reply)


# Nodes that pass on what their model says.


@passing
async def plain(state):
    return {"messages": [await MODEL.ainvoke(state["messages"])]}


@passing
def blocking(state):
    reply = MODEL.invoke(state["messages"])
    logger.info("said %d characters", len(reply.text))
    return {"messages": reply}


@passing
async def wrapped(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [HumanMessage(content=reply.text.strip(), name="researcher")]}


@passing
async def of_an_agent(state):
    result = await AGENT.ainvoke({"messages": state["messages"]})
    return Command(update={"messages": result["messages"][-1:]}, goto=END)


@passing
async def by_a_helper(state):
    if not state["messages"]:
        return {"messages": [AIMessage("Ask something.")]}
    reply = await ask(state["messages"])
    return {"messages": [*state["messages"], reply], "count": 1}


@passing
async def with_documents(state):
    found = RETRIEVER.invoke("cats")
    prompt = PROMPT.invoke({"context": joined(found), "said": state["messages"]})
    return {"messages": [await MODEL.ainvoke(prompt)]}


@passing
async def in_chunks(state):
    chunks = [chunk async for chunk in MODEL.astream(state["messages"])]
    return {"messages": [add_ai_message_chunks(*chunks)]}


@passing
async def in_texts(state):
    texts = []
    async for chunk in MODEL.astream(state["messages"]):
        logger.debug("a chunk")
        texts.append(chunk.text)
    return {"messages": [AIMessage("".join(texts))]}


@passing
async def added_up(state):
    whole = None
    async for chunk in MODEL.astream(state["messages"]):
        whole = chunk if whole is None else whole + chunk
    return {"messages": [whole]}


@passing
async def counted(state):
    reply = await MODEL.ainvoke(state["messages"])
    update = {"messages": [reply]}
    update["count"] = len(reply.text)
    if reply.tool_calls:
        return Command(update=update, goto=END)
    return update


@passing
async def with_examples(state):
    examples = [("user", "1 + 1"), ("ai", "2"), AIMessage("3", name="example")]
    return {"messages": [await MODEL.ainvoke([*examples, *state["messages"]])]}


@passing
async def with_an_error_of_its_own(state):
    try:
        reply = await MODEL.ainvoke(state["messages"])
        logger.info("said %s", reply.text)
    except ValueError as error:
        reply = AIMessage(f"The model failed: {error}")
    return {"messages": [reply]}


@passing
async def with_attempts(state):
    for _ in range(3):
        try:
            return {"messages": [await MODEL.ainvoke(state["messages"])]}
        except ConnectionError:
            logger.warning("again")
    return {"messages": [AIMessage("Try later.")]}


@passing
async def in_one_of_several_modes(state):
    if state["messages"][-1].text == "a":
        reply = await MODEL.ainvoke(state["messages"])
    elif state["messages"][-1].text == "b":
        reply = await ask(state["messages"])
    else:
        return {"messages": [AIMessage("Say a or b.")]}
    return {"messages": [reply]}


@passing
async def by_a_helper_that_may_fail(state):
    try:
        return {"messages": [await ask(state["messages"])]}
    except ValueError:
        return {"messages": [AIMessage("Sorry.")]}


@passing
async def unless_steps_are_used_up(state):
    reply = cast("AIMessage", await MODEL.ainvoke(state["messages"]))
    if state.get("is_last_step") and reply.tool_calls:
        return {"messages": [AIMessage("I have no more steps.", id=reply.id)]}
    return {"messages": [reply]}


@passing
async def in_the_state(state):
    state["messages"].append(await MODEL.ainvoke(f"Answer {state['question']}."))
    state["count"] = state.get("count", 0) + 1
    return state


@passing
async def with_a_writer(state):
    write = get_stream_writer()
    text = ""
    async for chunk in MODEL.astream(state["messages"]):
        if chunk.text:
            write({"chunk": chunk.text})
            text += chunk.text
    return {"messages": [AIMessage(text)]}


@passing
async def with_a_runtime(state, runtime: Runtime):
    reply = await MODEL.ainvoke(state["messages"])
    runtime.stream_writer({"said": reply.text})
    reply.pretty_print()
    return {"messages": [reply]}


@passing
async def with_a_store(state, writer: StreamWriter, *, store: BaseStore):
    reply = await MODEL.ainvoke(state["messages"])
    await store.aput(("said",), "last", {"text": reply.text})
    writer(reply.text)
    return {"messages": [reply]}


@passing
async def named_and_stripped(state):
    reply = await MODEL.ainvoke(state["messages"])
    reply.content = reply.content.strip()
    reply.name = "writer"
    return {"messages": [reply.model_copy(update={"id": "1"})]}


@passing
async def until_it_says_something(state):
    messages = state["messages"]
    while True:
        reply = await MODEL.ainvoke(messages)
        if reply.content or reply.tool_calls:
            break
        messages = [*messages, ("user", "Say something.")]
    return {"messages": [reply]}


@passing
async def in_blocks(state):
    reply = await MODEL.ainvoke(state["messages"])
    if isinstance(reply.content, list):
        text = "".join(each["text"] for each in reply.content if each.get("type") == "text")
    else:
        text = reply.content
    return {"messages": [AIMessage(text)]}


AGENT = StateGraph(MessagesState).add_node(plain).add_edge(START, "plain").compile()
RETRIEVER = Finds()
ASK = MODEL.ainvoke
GUARD = RunnableLambda(guarded)
PARSER = JsonOutputParser()
BOX: dict[str, Any] = {}
REFUSALS = {"how to build a bomb": NO}

PASSING += [
    *(Desk(), Desk().by_attribute, functools.partial(plain)),
    lambda state: {"messages": [MODEL.invoke(state["messages"])]},
]


# Nodes that may refuse it or answer with something else.


@checking
async def by_a_function(state):
    return {"messages": [guarded(await MODEL.ainvoke(state["messages"]))]}


@checking
async def by_a_helper_that_checks(state):
    return {"messages": [await ask_and_check(state["messages"])]}


@checking
async def by_a_condition(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [NO if "bomb" in reply.text else reply]}


@checking
async def by_a_condition_of_a_function(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [reply]} if not is_harmful(reply.text) else {}


@checking
async def by_and_and_or(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [("bomb" in reply.text and NO) or reply]}


@checking
async def by_another_return(state):
    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        return {"messages": [NO]}
    return {"messages": [reply]}


@checking
async def by_saying_nothing(state):
    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        return {"messages": []}
    return {"messages": [reply]}


@checking
async def by_a_message_in_a_variable(state):
    reply = await MODEL.ainvoke(state["messages"])
    message = AIMessage(content="I cannot.")
    return {"messages": [reply, message][-1:]}


@checking
async def by_a_change(state):
    reply = await MODEL.ainvoke(state["messages"])
    reply.content = reply.text.replace("bomb", "****")
    return {"messages": [reply]}


@checking
async def by_a_changed_copy(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [reply.model_copy(update={"content": "I cannot."})]}


@checking
async def by_a_copy(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [reply.copy(update={"content": "I cannot."})]}


@checking
async def by_cutting_it(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [AIMessage(reply.text[:3])]}


@checking
async def by_stripping_words(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [AIMessage(reply.text.strip("two three"))]}  # noqa: B005 - as it is


@checking
async def by_keeping_it_beside(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [AIMessage("I cannot.", additional_kwargs={"raw": reply.text})]}


@checking
async def by_a_function_within_that_asks(state):
    async def say():
        return await MODEL.ainvoke(state["messages"])

    reply = await say()
    return {"messages": [NO if "bomb" in reply.text else reply]}


@checking
async def by_a_function_within_that_raises(state):
    def refuse():
        if "bomb" in reply.text:
            raise LookupError

    reply = await MODEL.ainvoke(state["messages"])
    refuse()
    return {"messages": [reply]}


@checking
async def behind_a_function_within(state):
    reply = await MODEL.ainvoke(state["messages"])

    def nothing():
        """Do nothing."""

    nothing()
    return {"messages": [NO], "raw": reply.text}


@checking
async def by_a_runnable_around_a_model(state):
    return {"messages": [await GUARD.ainvoke(await MODEL.ainvoke(state["messages"]))]}


@checking
async def by_the_context_of_a_runtime(state, runtime: Runtime):
    reply = await MODEL.ainvoke(state["messages"])
    runtime.context.check(reply)
    return {"messages": [reply]}


@checking
async def by_a_condition_beside_calls(state):
    reply = await MODEL.ainvoke(state["messages"])
    if reply.tool_calls:
        if "bomb" in reply.text:
            return {"messages": [NO]}
        return {"messages": [reply]}
    return {"messages": [reply]}


@checking
async def by_a_parser(state):
    try:
        reply = await MODEL.ainvoke(state["messages"])
        PARSER.parse(reply.text)
    except OutputParserException:
        reply = NO
    return {"messages": [reply]}


@checking
async def by_leaving_a_loop(state):
    while True:
        reply = await MODEL.ainvoke(state["messages"])
        if reply.response_metadata.get("finish_reason") != "stop":
            break
        return {"messages": [reply]}
    return {"messages": [NO]}


@checking
async def by_what_is_known_about_it(state):
    try:
        reply = await MODEL.ainvoke(state["messages"])
        if reply.response_metadata.get("finish_reason") != "stop":
            raise ValueError  # noqa: TRY301 - as it is
    except ValueError:
        reply = NO
    return {"messages": [reply]}


@checking
async def by_a_global_mapping(state):
    BOX["reply"] = await MODEL.ainvoke(state["messages"])
    check_box()
    return {"messages": [BOX["reply"]]}


def check_box():
    BOX["reply"] = guarded(BOX["reply"])


@checking
async def by_updating_the_update(state):
    update = {"messages": [await MODEL.ainvoke(state["messages"])]}
    if len(update) > 5:
        update.update(messages=[NO])
    return update


@checking
async def by_joining_updates(state):
    update = {"messages": [await MODEL.ainvoke(state["messages"])]}
    if len(update) > 5:
        update |= {"messages": [NO]}
    return update


@checking
async def by_its_length(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [[reply, NO][len(reply.text) > 5]]}


@checking
async def by_a_template(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [AIMessage("In short: {}".format(reply.text))]}  # noqa: UP032 - as it is


@checking
async def by_a_context(state):
    with Answered(await MODEL.ainvoke(state["messages"])) as reply:
        return {"messages": [reply]}


@checking
async def by_a_constructor(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [AIMessage(Answered(reply).reply.text)]}


@checking
async def by_another_value_of_a_variable(state):
    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        reply = NO
    return {"messages": [reply]}


@checking
async def by_another_text_of_a_variable(state):
    text = (await MODEL.ainvoke(state["messages"])).text
    if "bomb" in text:
        text = "I cannot."
    return {"messages": [AIMessage(text)]}


@checking
async def by_an_item(state):
    result = await AGENT.ainvoke({"messages": state["messages"]})
    if "bomb" in result["messages"][-1].text:
        result["messages"][-1] = NO
    return result


@checking
async def by_removing_it(state):
    said = [await MODEL.ainvoke(state["messages"])]
    if "bomb" in said[0].text:
        said.clear()
    return {"messages": said}


@checking
async def by_another_key(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [NO], "raw": reply}


@checking
async def by_asking_again(state):
    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        reply = await MODEL.ainvoke(["Again."])
    return {"messages": [reply]}


@checking
async def by_asking_until_it_is_good(state):
    for _ in range(3):
        reply = await MODEL.ainvoke(state["messages"])
        if "bomb" not in reply.text:
            break
    return {"messages": [reply]}


@checking
async def by_masking(state):
    text = (await MODEL.ainvoke(state["messages"])).text
    for word in ("bomb", "gun"):
        text = text.replace(word, "****")
    return {"messages": [AIMessage(text)]}


@checking
async def by_a_package(state):
    text = (await MODEL.ainvoke(state["messages"])).text
    text = re.sub("bomb", "****", text)
    return {"messages": [AIMessage(text)]}


@checking
async def by_leaving_messages_out(state):
    result = await AGENT.ainvoke({"messages": state["messages"]})
    return {"messages": [each for each in result["messages"] if "bomb" not in each.text]}


@checking
async def by_leaving_chunks_out(state):
    texts = []
    async for chunk in MODEL.astream(state["messages"]):
        if "bomb" in chunk.text:
            continue
        texts.append(chunk.text)
    return {"messages": [AIMessage("".join(texts))]}


@checking
async def by_stopping(state):
    text = ""
    async for chunk in MODEL.astream(state["messages"]):
        text += chunk.text
        if "bomb" in text:
            text = "I cannot."
            break
    return {"messages": [AIMessage(text)]}


@checking
async def by_how_many_messages(state):
    result = await AGENT.ainvoke({"messages": state["messages"]})
    end = -1 if "bomb" in result["messages"][-1].text else None
    return {"messages": result["messages"][:end]}


@checking
async def by_choosing_an_item(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [[reply, NO]["bomb" in reply.text]]}


@checking
async def by_choosing_the_best(state):
    replies = await MODEL.abatch([state["messages"]] * 2)
    return {"messages": sorted(replies, key=lambda each: is_harmful(each.text))[:1]}


@checking
async def by_another_thread(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [await asyncio.to_thread(guarded, reply)]}


@checking
async def by_an_exception_that_it_catches(state):
    try:
        reply = await MODEL.ainvoke(state["messages"])
        if "bomb" in reply.text:
            raise ValueError  # noqa: TRY301 - as it is
    except ValueError:
        reply = NO
    return {"messages": [reply]}


@checking
async def by_an_assertion(state):
    reply = await MODEL.ainvoke(state["messages"])
    try:
        assert "bomb" not in reply.text
    except AssertionError:
        return {"messages": [AIMessage("I cannot.")]}
    return {"messages": [reply]}


@checking
async def by_a_verdict(state):
    reply, verdict = await asyncio.gather(MODEL.ainvoke(state["messages"]), MODEL.ainvoke("Good?"))
    if verdict.text == "no":
        return {"messages": [AIMessage("I cannot.")]}
    return {"messages": [reply]}


@checking
async def by_a_function_within(state):
    reply = await MODEL.ainvoke(state["messages"])

    def refuse():
        nonlocal reply
        reply = NO

    if "bomb" in reply.text:
        refuse()
    return {"messages": [reply]}


@checking
async def by_a_generator(state):
    return {"messages": [AIMessage("".join([text async for text in harmless_texts(state)]))]}


async def harmless_texts(state):
    async for chunk in MODEL.astream(state["messages"]):
        yield "****" if "bomb" in chunk.text else chunk.text


@checking
async def by_a_key_of_an_update(state):
    reply = await MODEL.ainvoke(state["messages"])
    update = {"messages": [reply], "raw": reply.text}
    if "bomb" in reply.text:
        update["messages"] = [NO]
    return update


@checking
async def by_a_message_of_unknown_arguments(state):
    reply = await MODEL.ainvoke(state["messages"])
    fields = {"content": "I cannot."}
    return {"messages": [AIMessage(**fields)], "raw": reply}


@checking
async def by_attributes(state):
    reply = await MODEL.ainvoke(state["messages"])
    setattr(reply, "content", "I cannot.")  # noqa: B010 - as it is
    return {"messages": [reply]}


@checking
async def by_blocks(state):
    reply = await MODEL.ainvoke(state["messages"])
    reply.content[0]["text"] = "I cannot."
    return {"messages": [reply]}


@checking
async def by_a_list_of_findings(state):
    reply = await MODEL.ainvoke(state["messages"])
    found = []
    for word in ("bomb", "gun"):
        if word in reply.text:
            found.append(word)  # noqa: PERF401 - as it is
    return {"messages": [NO]} if found else {"messages": [reply]}


@checking
async def by_a_method_in_a_variable(state):
    reply = await MODEL.ainvoke(state["messages"])
    says = reply.text.count
    if says("bomb"):
        return {"messages": [NO]}
    return {"messages": [reply]}


@checking
async def by_a_lookup_that_fails(state):
    reply = await MODEL.ainvoke(state["messages"])
    try:
        REFUSALS[reply.text]
    except KeyError:
        return {"messages": [reply]}
    return {"messages": [NO]}


@checking
async def by_what_follows_a_failure(state):
    reply = await MODEL.ainvoke(state["messages"])
    answer = NO
    with contextlib.suppress(ValueError):
        reply.text.index("harmless")
        answer = reply
    return {"messages": [answer]}


@checking
async def by_another_name(state):
    reply = await MODEL.ainvoke(state["messages"])
    same = reply
    same.content = "I cannot."
    return {"messages": [reply]}


@checking
async def by_another_name_of_a_list(state):
    update = {"messages": [await MODEL.ainvoke(state["messages"])]}
    messages = update["messages"]
    if "bomb" in messages[0].text:
        messages[0] = NO
    return update


@checking
async def by_each_message(state):
    result = await AGENT.ainvoke({"messages": state["messages"]})
    for each in result["messages"]:
        each.content = each.content.replace("bomb", "****")
    return result


@checking
async def by_an_update_of_a_command(state):
    command = Command(update={"messages": [await MODEL.ainvoke(state["messages"])]})
    if "bomb" in command.update["messages"][0].text:
        command.update["messages"] = [NO]
    return command


@checking
async def by_another_name_of_a_model(state):
    reply = await ASK(state["messages"])
    return {"messages": [NO if "bomb" in reply.text else reply]}


@checking
async def by_events(state):
    text = ""
    async for event in MODEL.astream_events(state["messages"], version="v2"):
        if event["event"] == "on_chat_model_stream":
            text += event["data"]["chunk"].text
    return {"messages": [AIMessage(text.replace("bomb", "****"))]}


@checking
async def by_a_helper_that_fails(state):
    try:
        return {"messages": [await ask_strictly(state["messages"])]}
    except AssertionError:
        return {"messages": [NO]}


async def ask_strictly(messages):
    reply = await MODEL.ainvoke(messages)
    assert "bomb" not in reply.text
    return reply


@checking
async def by_a_global_variable(state):
    global last  # noqa: PLW0603 - as it is
    last = await MODEL.ainvoke(state["messages"])
    check_last()
    return {"messages": [last]}


def check_last():
    global last  # noqa: PLW0603 - as it is
    last = guarded(last)


@checking
async def in_a_loop_before_it_asks(state):
    reply = None
    while True:
        if reply is not None:
            return {"messages": [NO if "bomb" in reply.text else reply]}
        reply = await MODEL.ainvoke(state["messages"])


@checking
async def by_an_exception_that_it_imports(state):
    from a2a_adapters import BlockedError

    reply = await MODEL.ainvoke(state["messages"])
    if "bomb" in reply.text:
        raise BlockedError("No.")
    return {"messages": [reply]}


@checking
async def by_an_unknown_function(state):
    check = state["check"]
    reply = await MODEL.ainvoke(state["messages"])
    check(reply)
    return {"messages": [reply]}


@checking
async def with_text_around(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [AIMessage(f"In short: {reply.text}")]}


@checking
async def by_a_map(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [*map(guarded, [reply])]}


@checking
async def by_another_model(state):
    draft = await MODEL.ainvoke(state["messages"])
    return {"messages": [await MODEL.ainvoke([*state["messages"], draft])]}


@checking
async def by_a_runnable(state):
    reply = await MODEL.ainvoke(state["messages"])
    return {"messages": [await GUARD.ainvoke(reply)]}


@checking
async def asks_out_of_sight(state):
    question = SimpleNamespace(ask=MODEL.ainvoke)
    return {"messages": [await question.ask(state["messages"])]}


def without_source():
    known = {"MODEL": MODEL}
    exec("async def speak(state): return {'messages': [await MODEL.ainvoke([])]}", known)
    return known["speak"]


CHECKING += [
    functools.wraps(plain)(lambda state: {"messages": [guarded(MODEL.invoke(state["messages"]))]}),
    *(Derived(), Careful(), Desk().answers_or_not, checks(plain), without_source()),
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


def test_looking_for_code_runs_none():
    class Lazy(Mapping):
        """Makes what it has when it is asked for it."""

        def __getitem__(self, key):
            raise LookupError

        __iter__ = __len__ = __getattr__ = __getitem__

    class Table(dict):
        def values(self):
            raise LookupError

    lazy, table = Lazy(), Table(model=MODEL)

    async def speak(state):
        lazy.note(lazy["question"])
        return {"messages": [await table["model"].ainvoke(state["messages"])]}

    assert not adapt(graph_of(speak)).holds_text


def test_text_of_a_node_whose_file_has_changed_is_held(tmp_path):
    file = tmp_path / "own.py"
    file.write_text("def speak(state):\n    return {'messages': [MODEL.invoke('Hi')]}\n")
    known = {"MODEL": MODEL}
    exec(compile(file.read_text(), file, "exec"), known)
    file.write_text("'''unfinished\n(")
    assert adapt(graph_of(known["speak"])).holds_text


def test_long_nodes_are_read_in_no_time(tmp_path):
    file = tmp_path / "own.py"
    parts = [f"    part{n} = part{n - 1} if state else reply\n" for n in range(1, 300)]
    body = "".join(["    part0 = reply = MODEL.invoke('Hi')\n", *parts])
    file.write_text(f"def speak(state):\n{body}    return {{'messages': [part299]}}\n")
    known = {"MODEL": MODEL}
    exec(compile(file.read_text(), file, "exec"), known)
    graph = graph_of(known["speak"])
    started = time.perf_counter()
    assert not adapt(graph).holds_text
    assert time.perf_counter() - started < 1


def test_methods_without_a_name_are_read():
    desk = SimpleNamespace()
    desk.ask = MethodType(functools.partial(guarded), MODEL)

    async def speak(state):
        return {"messages": [desk.ask(await MODEL.ainvoke(state["messages"]))]}

    assert adapt(graph_of(speak)).holds_text


def test_nodes_of_an_installed_project_are_read(tmp_path, monkeypatch):
    package = tmp_path / "site-packages" / "own_bot_of_a_test"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from langchain_core.messages import AIMessage\n"
        "def speak(state):\n"
        "    reply = MODEL.invoke(state['messages'])\n"
        "    return {'messages': [AIMessage('No.') if 'two' in reply.text else reply]}\n"
    )
    monkeypatch.syspath_prepend(package.parent)
    own = importlib.import_module(package.name)
    own.MODEL = MODEL
    assert adapt(graph_of(own.speak)).holds_text


def test_decorators_of_packages_pass_on():
    @tenacity.retry
    @traceable
    async def speak(state):
        return {"messages": [await MODEL.ainvoke(state["messages"])]}

    assert not adapt(graph_of(speak)).holds_text
