from __future__ import annotations

import operator
from inspect import signature
from typing import Annotated, Any

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from a2a_adapters import Data, File, InputRequired, Output, Rejected, TargetError, TaskMetadata
from tests.plugins.langchain.support import (
    USAGE,
    Scripted,
    answer,
    ask,
    call,
    calling,
    kinds,
    only,
    reply,
    run,
    send,
    sent,
)


class Trip(TypedDict):
    city: str
    notes: Annotated[list[str], operator.add]


class Age(BaseModel):
    years: int


HAS_SCHEMAS = "response_schema" in signature(interrupt).parameters


@tool
def question(text: str) -> str:
    """Ask the user."""
    return str(interrupt(text))


def asking(*payloads: Any, **options: Any):
    """Return a graph that asks these questions in turn and repeats the replies."""

    def node(state):
        return {"messages": [AIMessage(repr([interrupt(payload) for payload in payloads]))]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", node)
    builder.add_edge(START, "ask")
    return builder.compile(**options)


def asking_at_once(**options: Any):
    """Return a graph with two nodes that ask in parallel."""
    builder = StateGraph(Trip)
    builder.add_node("where", lambda _: {"notes": [f"where={interrupt('Where?')}"]})
    builder.add_node("when", lambda _: {"notes": [f"when={interrupt('When?')}"]})
    builder.add_node("end", lambda state: {"city": ", ".join(sorted(state["notes"]))})
    for node in ("where", "when"):
        builder.add_edge(START, node)
    builder.add_edge(["where", "when"], "end")
    return builder.compile(**options)


async def asked(adapter, *parts, **fields) -> InputRequired:
    events = await ask(adapter, *parts, **fields)
    assert isinstance(events[-1], InputRequired)
    return events[-1]


async def test_questions_have_text_and_data_and_text_resumes_the_graph():
    adapter = adapt(asking("Which city?"))
    first = await asked(adapter, "book")
    assert first.prompt == "Which city?"
    assert first.durable
    (data,) = first.parts
    (interrupt_id,) = first.metadata["interrupts"]
    assert data.value == {"interrupt_id": interrupt_id, "value": "Which city?"}
    assert answer(await run(adapter, reply(first, "Rome"))) == "['Rome']"
    assert answer(await ask(adapter, "book")) == ""


OPTIONS = [
    ({"question": "Which?", "options": ["red", "green"]}, {"enum": ["red", "green"]}),
    ({"question": "How many?", "choices": [1, 2]}, {"enum": [1, 2]}),
    (
        {"question": "Which?", "options": [{"value": "r", "label": "Red"}, {"id": 2}]},
        {"oneOf": [{"const": "r", "title": "Red"}, {"const": 2, "title": "2"}]},
    ),
    ({"question": "Which?", "options": []}, None),
    ({"question": "Which?", "options": "red"}, None),
    ({"question": "Which?", "options": [["red"]]}, None),
    ({"question": "Which?", "options": [{"colour": "red"}]}, None),
]


@pytest.mark.parametrize(("payload", "schema"), OPTIONS)
async def test_options_are_the_schema_of_the_answer(payload, schema):
    adapter = adapt(asking(payload))
    first = await asked(adapter, "book")
    assert first.prompt == payload["question"]
    assert first.parts[0].value["value"] == payload
    assert first.parts[0].value.get("response_schema") == schema
    assert answer(await run(adapter, reply(first, Data("red")))) == "['red']"


async def test_a_pause_is_no_step():
    events = await ask(adapt(asking("Which city?")), "book", wants_progress=True)
    assert not [event for event in events if "__interrupt__" in str(event)]


@pytest.mark.parametrize(
    ("payload", "prompt"),
    [
        ({"question": "Sure?", "cost": 3}, "Sure?"),
        ({"cost": 3}, '{"cost": 3}'),
        ([1, 2], "[1, 2]"),
    ],
)
async def test_payloads_become_text(payload, prompt):
    first = await asked(adapt(asking(payload)), "go")
    assert first.prompt == prompt
    assert first.parts[0].value["value"] == payload


async def test_data_replies_are_passed_unchanged():
    adapter = adapt(asking("Where?"))
    first = await asked(adapter, "book")
    assert answer(await run(adapter, reply(first, Data({"city": "Rome"})))) == "[{'city': 'Rome'}]"


async def test_several_data_parts_become_a_list():
    adapter = adapt(asking("Where?"))
    first = await asked(adapter, "book")
    assert answer(await run(adapter, reply(first, Data(1), Data("b")))) == "[[1, 'b']]"


async def test_questions_in_turn():
    adapter = adapt(asking("Where?", "When?"))
    first = await asked(adapter, "book")
    second = (await run(adapter, reply(first, "Rome")))[-1]
    assert second.prompt == "When?"
    assert answer(await run(adapter, reply(second, "May"))) == "['Rome', 'May']"


async def test_text_answers_the_first_of_several_questions():
    adapter = adapt(asking_at_once())
    first = await asked(adapter, Data({"city": ""}))
    assert len(first.parts) == len(first.metadata["interrupts"]) == 2
    second = (await run(adapter, reply(first, "A")))[-1]
    assert isinstance(second, InputRequired)
    lines = first.prompt.splitlines()
    assert [line[:3] for line in lines[:2]] == ["1. ", "2. "]
    assert lines[2:] == ["", "A text reply answers question 1; 1 more remains."]
    asked_first, asked_second = (line[3:] for line in lines[:2])
    assert {asked_first, asked_second} == {"Where?", "When?"}
    assert second.prompt == asked_second
    assert len(second.parts) == 1
    events = await run(adapter, reply(second, "B"))
    first_key, second_key = (each.strip("?").lower() for each in (asked_first, asked_second))
    assert answer(events) == ""
    made = only(events, Output).parts[0].value
    assert made["city"] == ", ".join(sorted([f"{first_key}=A", f"{second_key}=B"]))


async def test_mappings_answer_all_named_questions():
    adapter = adapt(asking_at_once())
    first = await asked(adapter, Data({"city": ""}))
    answers = {part.value["interrupt_id"]: part.value["value"][:-1] for part in first.parts}
    events = await run(adapter, reply(first, Data(answers)))
    assert only(events, Output).parts[0].value["city"] == "when=When, where=Where"


async def test_new_tasks_do_not_drop_the_question():
    adapter = adapt(asking("Where?"))
    first = await asked(adapter, "book")
    (event,) = await ask(adapter, "something else")
    assert isinstance(event, Rejected)
    assert "waits for an answer" in event.reason
    assert answer(await ask(adapter, "x", context_id="other")) == ""
    assert answer(await run(adapter, reply(first, "Rome"))) == "['Rome']"


async def test_stale_replies_are_rejected():
    adapter = adapt(asking("Where?"))
    first = await asked(adapter, "book")
    await run(adapter, reply(first, "Rome"))
    (event,) = await run(adapter, reply(first, "Paris"))
    assert isinstance(event, Rejected)
    (event,) = await run(adapt(asking("Where?")), reply(first, "Paris"))
    assert isinstance(event, Rejected)


async def test_empty_replies_are_requested_again():
    adapter = adapt(asking("Where?"))
    first = await asked(adapter, "book")
    (again,) = await run(adapter, reply(first, File(content=b"x")))
    assert again.prompt.endswith("Where?")
    assert "reply with text or data" in again.prompt
    assert answer(await run(adapter, reply(again, "Rome"))) == "['Rome']"


async def test_questions_survive_a_restart(tmp_path):
    file = str(tmp_path / "state.db")
    async with AsyncSqliteSaver.from_conn_string(file) as saver:
        first = await asked(adapt(asking("Where?", checkpointer=saver)), "book")
    async with AsyncSqliteSaver.from_conn_string(file) as saver:
        adapter = adapt(asking("Where?", checkpointer=saver))
        assert answer(await run(adapter, reply(first, "Rome"))) == "['Rome']"
        (event,) = await run(adapter, reply(first, "Rome"))
        assert isinstance(event, Rejected)


@pytest.mark.skipif(not HAS_SCHEMAS, reason="this LangGraph has no response schemas")
async def test_response_schemas_are_sent_and_enforced():
    def node(_):
        return {"messages": [AIMessage(repr(interrupt("How old?", response_schema=Age)))]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", node)
    builder.add_edge(START, "ask")
    adapter = adapt(builder.compile())
    first = await asked(adapter, "hi")
    assert first.parts[0].value["response_schema"]["properties"].keys() == {"years"}
    (again,) = await run(adapter, reply(first, Data({"years": "many"})))
    assert isinstance(again, InputRequired)
    assert again.prompt.startswith("years: Input should be a valid integer")
    assert answer(await run(adapter, reply(again, Data({"years": 7})))) == "Age(years=7)"


async def test_interrupts_without_a_checkpointer_fail_with_a_clear_error():
    with pytest.raises(TargetError, match="needs a checkpointer"):
        await ask(adapt(asking("Where?", checkpointer=False)), "book")


async def test_entrypoints_can_ask():
    @entrypoint()
    async def book(text: str) -> str:
        return f"{text} {interrupt('Where?')}"

    adapter = adapt(book)
    first = await asked(adapter, "to")
    assert answer(await run(adapter, reply(first, "Rome"))) == "to Rome"


async def test_tools_can_ask_and_usage_adds_up():
    model = Scripted(script=[calling(call("question", text="Name?")), "hello Bob"])
    adapter = adapt(create_agent(model, tools=[question]))
    events = await ask(adapter, "hi")
    assert events[-1].prompt == "Name?"
    events = await run(adapter, reply(events[-1], "Bob"))
    assert answer(events) == "hello Bob"
    double = {key: 2 * count for key, count in USAGE.items()}
    assert only(events, TaskMetadata).values == {"usage": double}
    assert kinds(model.seen[-1]) == "human,ai,tool"


async def test_interrupts_in_subgraphs():
    builder = StateGraph(MessagesState)
    builder.add_node("inner", asking("Where?"))
    builder.add_edge(START, "inner")
    adapter = adapt(builder.compile())
    first = await asked(adapter, "book")
    assert answer(await run(adapter, reply(first, "Rome"))) == "['Rome']"


def stopping(**where: Any):
    model = Scripted(script=[calling(call("send", to="Ann")), "done"])
    return adapt(create_agent(model, tools=[send], **where)), model


async def test_breakpoints_wait_for_a_yes():
    adapter, _ = stopping(interrupt_before=["tools"])
    first = await asked(adapter, "write")
    assert first.prompt == "Go on with tools?"
    shown = {"next": ["tools"], "tool_calls": [{"name": "send", "args": {"to": "Ann"}}]}
    assert first.parts[0].value == shown
    (blocked,) = await ask(adapter, "other")
    assert isinstance(blocked, Rejected)
    (again,) = await run(adapter, reply(first, "why?"))
    assert again.prompt == "Please reply with yes or no.\n\nGo on with tools?"
    assert sent == []
    assert answer(await run(adapter, reply(again, "Yes."))) == "done"
    assert sent == ["Ann"]


async def test_a_no_at_a_breakpoint_ends_the_task_but_not_the_conversation():
    adapter, model = stopping(interrupt_before=["tools"])
    first = await asked(adapter, "write")
    (event,) = await run(adapter, reply(first, "no"))
    assert isinstance(event, Rejected)
    assert sent == []
    assert answer(await ask(adapter, "then?")) == "done"
    assert kinds(model.seen[-1]) == "human,ai,tool,human"


async def test_interrupt_after_a_node():
    adapter, _ = stopping(interrupt_after=["model"])
    first = await asked(adapter, "write")
    assert first.prompt == "Go on with tools?"
    assert answer(await run(adapter, reply(first, "yes"))) == "done"
    assert sent == ["Ann"]


async def test_replies_without_a_question_are_rejected():
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda _: {"messages": [AIMessage("hi")]})
    builder.add_edge(START, "say")
    unknown = InputRequired("?", metadata={"interrupts": ["x"]})
    (rejected,) = await run(adapt(builder.compile()), reply(unknown, "yes"))
    assert isinstance(rejected, Rejected)
