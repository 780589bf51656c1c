"""Pictures, and texts that no model has streamed, are sent with the question that follows them."""

from __future__ import annotations

import base64
import functools

import pytest
from a2a.types import TaskState
from a2a_adapters_langchain import adapt
from langchain.agents.middleware import AgentMiddleware, after_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from a2a_adapters import InputRequired, ServerOptions, build_app
from a2a_adapters.testing import connect, running, send, user_message
from tests.plugins.langchain.support import Scripted, Whole, ask, call, only
from tests.plugins.langchain.test_answers import agent, line, says
from tests.support.sqlite import new_database

CAT, DOG, COW = "cat", "dog", "cow"


def picture(name):
    return {"type": "image", "mime_type": "image/png", "base64": encoded(name)}


def encoded(name):
    return base64.b64encode(name.encode()).decode()


def blocks(*content):
    """Return content blocks: texts, and pictures by their names."""
    return [
        picture(each) if each in (CAT, DOG, COW) else {"type": "text", "text": each}
        for each in content
    ]


def writes(name, *content, **fields):
    """Return a node that writes a message of these texts and pictures."""

    def node(state):
        return {"messages": [AIMessage(blocks(*content), **fields)]}

    node.__name__ = name
    return node


def asks(name="approve"):
    def node(state):
        interrupt("Send it?")

    node.__name__ = name
    return node


def shown(task):
    """Return the texts and pictures of a task in order."""
    parts = [part for artifact in task.artifacts for part in artifact.parts]
    found = [part.raw.decode() if part.raw else part.text for part in parts]
    return [each for each in found if each]


async def dialogue(make, *replies, storage="memory:", hold_text="guarded"):
    """Return what a task shows at each question and at its end.

    If it is stored, the server is restarted at each question.
    """
    seen, task_id, todo = [], "", ["hello", *replies]
    while todo:
        options = ServerOptions(storage=storage, hold_text=hold_text)
        app = build_app(make(), name="agent", options=options)
        async with running(app) as url, connect(url) as client:
            while todo:
                task = await send(client, user_message(todo.pop(0), task_id=task_id))
                task_id = task.id
                seen.append(shown(task))
                if storage != "memory:":
                    break
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    return seen


# What a graph shows before its questions, and what it has shown at the end.


def approved():
    return line(writes("draw", CAT), asks())


def published():
    return line(writes("draw", "Look:", CAT, "A cat."), asks(), writes("publish", "Published."))


def several():
    return line(
        writes("one", CAT),
        writes("two", "Two.", DOG),
        asks("first"),
        writes("three", COW, "Three."),
        asks("second"),
        writes("four", CAT, "Done."),
    )


def plain():
    return line(writes("draft", "The draft."), asks(), writes("publish", "Published."))


def at_breakpoint():
    nodes = writes("draw", CAT), writes("publish", "Published.")
    return line(*nodes, interrupt_before=["publish"])


def by_model():
    script = AIMessage(blocks("Here:", CAT, "A cat."))
    return line(says(script, name="draw"), asks(), says("Sent.", name="publish"))


class Checking(Scripted):
    """A model that checks its answers only if it does not stream."""

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return super()._generate(messages, stop, run_manager, **kwargs)


def conversation(model=Scripted, *, pictures=True):
    """A model whose messages the caller answers, in a loop."""
    script = [AIMessage(blocks("One.", CAT)), AIMessage(blocks(DOG, "Two.")), AIMessage("Bye.")]
    script = script if pictures else [AIMessage("One."), AIMessage("Bye.")]
    scripted = model(script=[lambda said: script[len(said) // 2]])

    async def speak(state):
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    def listen(state):
        return {"messages": [HumanMessage(interrupt("Go on?"))]}

    builder = StateGraph(MessagesState)
    builder.add_node("speak", speak).add_node("listen", listen)
    builder.add_edge(START, "speak").add_edge("listen", "speak")
    builder.add_conditional_edges(
        "speak", lambda state: END if state["messages"][-1].text == "Bye." else "listen"
    )
    return builder.compile()


def streamed_behind():
    """The text of the last of several nodes is streamed, and the picture of another precedes it."""

    def choose(state) -> Command:
        interrupt("Send it?")
        return Command(goto=END)

    builder = StateGraph(MessagesState)
    builder.add_node("draw", writes("draw", "Look:", CAT))
    builder.add_node("speak", says("A cat.")).add_node("choose", choose)
    builder.add_edge(START, "draw").add_edge("draw", "speak")
    builder.add_conditional_edges("speak", lambda _: "choose", ["choose", END])
    return builder.compile()


def inner():
    """A graph within a graph that asks."""
    builder = StateGraph(MessagesState)
    builder.add_node("before", writes("before", DOG))
    builder.add_node("inner", line(writes("draw", "Look:", CAT), asks(), writes("say", "Inside.")))
    builder.add_node("publish", writes("publish", "Published."))
    builder.add_edge(START, "before").add_edge("before", "inner").add_edge("inner", "publish")
    return builder.compile()


def alike():
    """Equal messages of nodes beside one another."""
    builder = StateGraph(MessagesState)
    builder.add_node("draw", writes("draw", "Look:", CAT))
    builder.add_node("approve", asks())
    builder.add_conditional_edges(START, lambda state: [Send("draw", state)] * 2, ["draw"])
    builder.add_edge("draw", "approve")
    return builder.compile()


GRAPHS = [
    (alike, [["Look:", CAT] * 2, ["Look:", CAT] * 2]),
    (approved, [[CAT], [CAT]]),
    (published, [["Look:", CAT, "A cat."], ["Look:", CAT, "A cat.", "Published."]]),
    (
        several,
        [
            [CAT, "Two.", DOG],
            [CAT, "Two.", DOG, COW, "Three."],
            [CAT, "Two.", DOG, COW, "Three.", CAT, "Done."],
        ],
    ),
    (plain, [["The draft."], ["The draft.", "Published."]]),
    (at_breakpoint, [[CAT], [CAT, "Published."]]),
    (by_model, [["Here:", CAT, "A cat."], ["Here:", CAT, "A cat.", "Sent."]]),
    (
        conversation,
        [["One.", CAT], ["One.", CAT, DOG, "Two."], ["One.", CAT, DOG, "Two.", "Bye."]],
    ),
    (
        lambda: conversation(Whole),
        [["One.", CAT], ["One.", CAT, DOG, "Two."], ["One.", CAT, DOG, "Two.", "Bye."]],
    ),
    (
        lambda: conversation(Checking),
        [["One.", CAT], ["One.", CAT, DOG, "Two."], ["One.", CAT, DOG, "Two.", "Bye."]],
    ),
    (lambda: conversation(Checking, pictures=False), [["One."], ["One.", "Bye."]]),
    (lambda: conversation(Whole, pictures=False), [["One."], ["One.", "Bye."]]),
    (streamed_behind, [["Look:", CAT, "A cat."], ["Look:", CAT, "A cat."]]),
    (inner, [[DOG, "Look:", CAT], [DOG, "Look:", CAT, "Published."]]),
]


@pytest.mark.parametrize("hold_text", ["guarded", "always"])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(("make", "expected"), GRAPHS)
async def test_what_precedes_a_question_is_sent_once_and_in_order(
    make, expected, stored, hold_text, tmp_path
):
    storage = new_database(tmp_path / "tasks.db") if stored else "memory:"
    replies = ["yes"] * (len(expected) - 1)
    assert await dialogue(make, *replies, storage=storage, hold_text=hold_text) == expected


class Refusing(AgentMiddleware):
    """Replaces messages with a dog."""

    def after_model(self, state, runtime):
        last = state["messages"][-1]
        if any(each.get("base64") == encoded(DOG) for each in last.content_blocks):
            return {"messages": [AIMessage("No dogs.", id=last.id)]}
        return None


def in_node(*script, after=(), **options):
    """A graph whose first node is an agent with a guard."""
    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent(*script, middleware=[Refusing()], **options))
    builder.add_edge(START, "agent")
    before = "agent"
    for node in after:
        builder.add_node(node.__name__, node).add_edge(before, node.__name__)
        before = node.__name__
    return builder.add_edge(before, END).compile()


def accepted():
    script = AIMessage(blocks("Look:", CAT, "A cat."))
    return in_node(script, after=[asks(), writes("publish", "Published.")])


def refused():
    script = AIMessage(blocks("Look:", DOG))
    return in_node(script, after=[asks(), writes("publish", "Published.")])


def beside_call(*first):
    """The messages of an agent that draws, and asks for approval at once."""
    drawing = AIMessage(blocks(*first), tool_calls=[call("ask_person", question="OK?")])
    return lambda said: AIMessage("Done.") if said[-1].type == "tool" else drawing


@tool
def ask_person(question: str) -> str:
    """Ask."""
    return interrupt(question)


def asking_agent(*first):
    return agent(beside_call(*first), tools=[ask_person], middleware=[Refusing()])


def asking_in_node(*first):
    publish = writes("publish", "Published.")
    return in_node(beside_call(*first), tools=[ask_person], after=[asks(), publish])


def in_turn(first):
    """A node, an agent that a question follows, and one that asks before another question."""
    builder = StateGraph(MessagesState)
    builder.add_node("write", writes("write", "Written."))
    one = agent(first, tools=[ask_person], middleware=[Refusing()])
    two = agent(beside_call("Look:", COW), tools=[ask_person], middleware=[Refusing()])
    builder.add_node("one", one).add_node("approve", asks()).add_node("two", two)
    builder.add_node("end", asks("end")).add_edge(START, "write").add_edge("write", "one")
    builder.add_edge("one", "approve").add_edge("approve", "two").add_edge("two", "end")
    return builder.compile()


ACCEPTED_FIRST = functools.partial(in_turn, AIMessage(blocks("First:", CAT)))
ASKING_FIRST = functools.partial(in_turn, beside_call("First:", CAT))
FIRST, FOUND = ["First:", CAT], ["Look:", COW, "Done."]

GUARDED = [
    (ACCEPTED_FIRST, [FIRST, FIRST, [*FIRST, *FOUND], [*FIRST, *FOUND]]),
    (
        ASKING_FIRST,
        [
            ["Written."],
            ["Written.", *FIRST, "Done."],
            ["Written.", *FIRST, "Done."],
            ["Written.", *FIRST, "Done.", *FOUND],
            ["Written.", *FIRST, "Done.", *FOUND],
        ],
    ),
    (accepted, [["Look:", CAT, "A cat."], ["Look:", CAT, "A cat.", "Published."]]),
    (refused, [[], ["Published."]]),
    (
        functools.partial(asking_agent, "Look:", CAT, "A cat."),
        [[], ["Look:", CAT, "A cat.\n\nDone."]],
    ),
    (functools.partial(asking_agent, CAT), [[], [CAT, "Done."]]),
    (
        functools.partial(asking_in_node, "Look:", CAT, "A cat."),
        [
            [],
            ["Look:", CAT, "A cat."],
            ["Look:", CAT, "A cat.", "Published."],
        ],
    ),
]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(("make", "expected"), GUARDED)
async def test_what_a_guard_has_not_accepted_waits(make, expected, stored, tmp_path):
    storage = new_database(tmp_path / "tasks.db") if stored else "memory:"
    replies = ["yes"] * (len(expected) - 1)
    assert await dialogue(make, *replies, storage=storage) == expected


@pytest.mark.parametrize(("make", "questions"), [(ACCEPTED_FIRST, 3), (ASKING_FIRST, 4)])
async def test_text_that_was_not_held_is_not_repeated_with_its_picture(make, questions):
    *_, asked, end = await dialogue(make, *["yes"] * questions, hold_text="never")
    assert asked == end
    assert end[-3:] == FOUND
    assert "".join(end).count("Look:") == 1


async def test_a_question_does_not_tell_what_a_guard_may_refuse():
    asked = only(await ask(adapt(asking_agent("Look:", CAT)), "hello"), InputRequired)
    assert encoded(CAT) not in str(asked)


async def test_only_chosen_nodes_precede_a_question():
    def make():
        return adapt(published(), stream_nodes=["publish"])

    assert await dialogue(make, "yes") == [[], ["Published."]]


def edited(*messages):
    """A graph that changes its message after the question."""

    def edit(state):
        return {"messages": [each(state["messages"][-1].id) for each in messages]}

    return line(writes("draw", "Look:", CAT, id="drawn"), asks(), edit)


REMOVED = functools.partial(edited, RemoveMessage, lambda _: AIMessage("Nothing."))
REPLACED = functools.partial(edited, lambda drawn: AIMessage(blocks("Better:", DOG), id=drawn))
MOVED = functools.partial(edited, RemoveMessage, lambda _: AIMessage(blocks("Look:", CAT)))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (REMOVED, ["Nothing.", CAT]),
        (REPLACED, ["Better:", CAT, DOG]),
        (MOVED, ["Look:", CAT]),
    ],
)
async def test_changes_after_the_question_do_not_repeat_a_picture(make, expected):
    assert await dialogue(make, "yes") == [["Look:", CAT], expected]


async def test_equal_messages_are_all_sent():
    def make():
        again = writes("again", "More?")
        return line(writes("one", "More?"), asks(), writes("two", "More?"), asks("second"), again)

    assert await dialogue(make, "yes", "yes") == [["More?"] * n for n in (1, 2, 3)]


async def test_pictures_of_earlier_tasks_are_not_sent_again():
    async with (
        running(build_app(published(), name="agent")) as url,
        connect(url) as client,
    ):
        for _ in range(2):
            task = await send(client, user_message("hello", context_id="one"))
            assert shown(task) == ["Look:", CAT, "A cat."]
            await send(client, user_message("yes", task_id=task.id))


async def test_a_task_that_begins_without_messages_keeps_what_it_has_shown():
    class Topic(MessagesState):
        topic: str

    def make():
        nodes = writes("draw", "Look:", CAT), asks(), asks("second"), writes("end", "Done.")
        return adapt(line(*nodes, state=Topic), input=lambda request: {"topic": request.text})

    before = ["Look:", CAT]
    assert await dialogue(make, "yes", "yes") == [before, before, [*before, "Done."]]


async def test_messages_that_are_not_in_the_output_are_not_sent_with_a_question():
    class Result(TypedDict):
        result: str

    class Hidden(MessagesState):
        result: str

    def publish(state):
        return {"result": "Published."}

    def make():
        builder = StateGraph(Hidden, output_schema=Result)
        builder.add_node("draw", writes("draw", "Look:", CAT))
        builder.add_node("inner", line(writes("again", DOG), asks(), state=Hidden))
        builder.add_node("publish", publish)
        builder.add_edge(START, "draw").add_edge("draw", "inner").add_edge("inner", "publish")
        return builder.compile()

    assert await dialogue(make, "yes") == [[], ["Published."]]


@after_agent
def ask_at_end(state, runtime):
    interrupt("Send it?")


async def test_a_message_that_was_held_is_sent_in_order_if_it_is_the_last():
    def make():
        script = AIMessage(blocks("Look:", CAT, "A cat."))
        return agent(script, middleware=[ask_at_end, Refusing()])

    assert await dialogue(make, "yes") == [[], ["Look:", CAT, "A cat."]]
