"""A graph whose process tests kill. Its nodes record their runs in a file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from a2a_adapters_langchain import adapt
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from a2a_adapters import ServerOptions, serve

STORAGE, WORK = sys.argv[1], Path(sys.argv[2])


def note(text):
    with (WORK / "log").open("a") as file:
        file.write(f"{text}\n")


async def until_it_may_go_on():
    while True:
        if (WORK / "go").exists():
            return
        await asyncio.sleep(0.02)


class Words(BaseChatModel):
    """Streams its text letter by letter, and can halt in the middle."""

    text: str
    halts: bool = False

    @property
    def _llm_type(self):
        return "words"

    def _generate(self, *_, **__):
        raise NotImplementedError

    async def _astream(self, *_, **__):
        middle = len(self.text) // 2
        for position, letter in enumerate(self.text):
            if self.halts and position == middle:
                await until_it_may_go_on()
            yield ChatGenerationChunk(message=AIMessageChunk(content=letter))
        usage = {"input_tokens": 1, "output_tokens": len(self.text)}
        usage["total_tokens"] = sum(usage.values())
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


def says(name, text, *, halts=False):
    async def node(state):
        note(name)
        return {"messages": [await Words(text=text, halts=halts).ainvoke(state["messages"])]}

    return node


async def ask(state):
    first = interrupt("which?")
    note(f"first answer {first}")
    if first == "twice":
        second = interrupt("which?")
        note(f"second answer {second}")
    return {}


async def halt(state):
    note("halt")
    await until_it_may_go_on()
    return {}


async def first_step(state):
    said = await Words(text="one").ainvoke(state["messages"])
    with (WORK / "steps").open("a") as file:
        file.write(f"{state['messages'][0].text}\n")
    return {"messages": [said]}


async def second_step(state):
    with (WORK / "begun").open("a") as file:
        file.write(f"{state['messages'][0].text}\n")
    await until_it_may_go_on()
    return {"messages": [await Words(text="two").ainvoke(state["messages"])]}


def in_two_steps():
    builder = StateGraph(MessagesState)
    builder.add_sequence([first_step, second_step])
    builder.add_edge(START, "first_step")
    return adapt(builder.compile(), stream_nodes=["first_step", "second_step"])


def route(state):
    return "ask" if state["messages"][-1].text in ("ask", "ask late") else "one"


if __name__ == "__main__":
    builder = StateGraph(MessagesState)
    builder.add_node("one", says("one", "The first."))
    builder.add_node("two", says("two", "The second.", halts=True))
    builder.add_node("three", says("three", "The third."))
    builder.add_node("ask", ask)
    builder.add_node("halt", halt)
    builder.add_conditional_edges(START, route, ["one", "ask"])
    builder.add_edge("ask", "halt")
    builder.add_edge("halt", "three")
    builder.add_edge("one", "two")
    builder.add_edge("two", "three")
    builder.add_edge("three", END)
    graph = adapt(builder.compile(), stream_nodes=["one", "two", "three"])
    target = in_two_steps() if "contract" in sys.argv else graph
    serve(target, port=0, options=ServerOptions(storage=STORAGE))
