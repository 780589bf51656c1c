"""Serves a graph whose process dies at each call of its checkpointer in turn.

Each life of the server is a fork of this process that resumes the tasks of the last one. Prints
a line of JSON for each death: the final task, and how often each node ran.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import operator
import os
import sys
import tempfile
import traceback
from collections import Counter
from functools import wraps
from pathlib import Path
from typing import Annotated

from a2a.types import (
    GetTaskRequest,
    ListTasksRequest,
    SendMessageConfiguration,
    TaskState,
)
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.config import get_config
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from a2a_adapters import Limits, ServerOptions, build_app
from a2a_adapters.testing import connect, running, user_message
from tests.plugins.langchain.support import Scripted

WORKS = (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)
DIED = 9
SAVERS = {"sqlite": AsyncSqliteSaver, "postgresql": AsyncPostgresSaver}
LIMITS = Limits(lease_seconds=1, sweep_seconds=0.2)


class Notes(MessagesState):
    """The notes of the nodes: one each, unless a node was skipped or its result applied twice."""

    notes: Annotated[list[str], operator.add]


class Life:
    """One life of the server. Counts the checkpointer's calls for a task, and dies at one of them.

    Args:
        folder: Where the nodes of a task note that they ran, in a file of the task's name.
        name: The task.
        dies_at: The number of the call, and whether it is before or after it.
    """

    def __init__(self, folder, name, dies_at):
        self.calls = 0
        self._folder = folder
        self._name = name
        self._dies_at = dies_at
        self._counts = False

    def begin(self, name):
        """Count from now on, if this is the task at which it is to die."""
        self._counts = name == self._name
        self.effects(name).touch()

    def effects(self, name):
        return self._folder / name

    def did(self, what):
        with self.effects(get_config()["metadata"]["context_id"]).open("a") as file:
            file.write(f"{what}\n")

    def watch(self, saver):
        for name in ("aput", "aput_writes"):
            setattr(saver, name, self._watched(getattr(saver, name)))

    def _watched(self, method):
        @wraps(method)
        async def call(*arguments, **options):
            self.calls += self._counts
            number = self.calls
            self._die_if((number, "before"))
            result = await method(*arguments, **options)
            self._die_if((number, "after"))
            return result

        return call

    def _die_if(self, now):
        if now == self._dies_at:
            os._exit(DIED)


def noting(life, name):
    async def node(_):
        life.did(name)
        return {"notes": [name]}

    return node


def silent(life, name):
    async def node(_):
        life.did(name)

    return node


def asking(life, name, *questions):
    async def node(_):
        answers = [interrupt(question) for question in questions]
        life.did(name)
        return {"notes": [f"{name}: {', '.join(answers)}"]}

    return node


async def telling(state):
    return {"messages": [AIMessage("; ".join(sorted(state["notes"])))]}


def branches(life):
    """Branches, a node that writes nothing, `Send`, and `Command(goto=...)`."""
    builder = StateGraph(Notes)
    for name in ("left", "right", "worker"):
        builder.add_node(name, noting(life, name))
    builder.add_node("plan", silent(life, "plan"))
    builder.add_node("join", silent(life, "join"))
    builder.add_node("last", telling)

    async def jump(_) -> Command:
        life.did("jump")
        return Command(goto="last", update={"notes": ["jump"]})

    builder.add_node("jump", jump, destinations=("last",))
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "left")
    builder.add_edge("plan", "right")
    builder.add_edge(["left", "right"], "join")
    builder.add_conditional_edges("join", lambda _: [Send("worker", {})] * 2, ["worker"])
    builder.add_edge("worker", "jump")
    builder.add_edge("last", END)
    return builder.compile()


def questions(life):
    """Two branches, one of which asks twice, and a subgraph that asks between two nodes."""
    inner = StateGraph(Notes)
    inner.add_node("before", noting(life, "before"))
    inner.add_node("ask inside", asking(life, "ask inside", "colour?"))
    inner.add_node("after", noting(life, "after"))
    inner.add_edge(START, "before")
    inner.add_edge("before", "ask inside")
    inner.add_edge("ask inside", "after")
    builder = StateGraph(Notes)
    builder.add_node("ask twice", asking(life, "ask twice", "size?", "shape?"))
    builder.add_node("beside", noting(life, "beside"))
    builder.add_node("inner", inner.compile())
    builder.add_node("last", telling)
    builder.add_edge(START, "ask twice")
    builder.add_edge(START, "beside")
    builder.add_edge(["ask twice", "beside"], "inner")
    builder.add_edge("inner", "last")
    return builder.compile()


def breakpoints(life):
    """A graph that stops before one node and after another."""
    builder = StateGraph(Notes)
    for name in ("one", "two", "three"):
        builder.add_node(name, noting(life, name))
    builder.add_node("last", telling)
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    builder.add_edge("two", "three")
    builder.add_edge("three", "last")
    return builder.compile(interrupt_before=["two"], interrupt_after=["three"])


def workflow(life):
    """A workflow of the functional API with sequential and parallel tasks."""

    @task
    async def step(name):
        life.did(name)
        return name

    @entrypoint()
    async def flow(messages):
        first = await step("first")
        asked = interrupt("which?")
        rest = await asyncio.gather(step("second"), step("third"))
        return "; ".join([first, asked, *rest])

    return flow


def agent(life):
    """LangChain's agent with a tool that needs approval."""

    def look(place: str) -> str:
        """Look at a place."""
        life.did("look")
        return f"nothing at {place}"

    call = {"name": "look", "args": {"place": "home"}, "id": "1", "type": "tool_call"}
    asks = AIMessage("I look.", tool_calls=[call])
    model = Scripted(script=[lambda said: asks if said[-1].type == "human" else "Nothing."])
    approving = HumanInTheLoopMiddleware(interrupt_on={"look": True})
    return create_agent(model, [look], middleware=[approving])


def pictures(life):
    """Nodes that draw pictures, some of them in a subgraph, each before a question."""

    def drawing(name):
        async def node(_):
            life.did(name)
            image = {"type": "image", "mime_type": "image/png", "base64": "aGk="}
            return {"messages": [AIMessage([image, {"type": "text", "text": f"{name}."}])]}

        return node

    inner = StateGraph(Notes)
    inner.add_node("draw inside", drawing("draw inside"))
    inner.add_node("ask inside", asking(life, "ask inside", "colour?"))
    inner.add_edge(START, "draw inside").add_edge("draw inside", "ask inside")
    builder = StateGraph(Notes)
    builder.add_node("draw", drawing("draw"))
    builder.add_node("ask twice", asking(life, "ask twice", "size?", "shape?"))
    builder.add_node("inner", inner.compile())
    builder.add_node("last", drawing("last"))
    builder.add_edge(START, "draw").add_edge("draw", "ask twice").add_edge("ask twice", "inner")
    builder.add_edge("inner", "last")
    return builder.compile()


GRAPHS = {
    make.__name__: make for make in (branches, questions, breakpoints, workflow, agent, pictures)
}


def answer_to(asked):
    """Return the reply to a question."""
    prompt = asked.status.message.parts[0].text
    return "yes" if "Go on" in prompt or "look" in prompt else f"{prompt[:-1]} answered"


def shown(seen):
    """Return the texts of a task, each on a line, and marks for its files."""
    parts = [part for artifact in seen.artifacts for part in artifact.parts]
    return "\n".join(filter(None, ["(file)" if part.raw else part.text for part in parts]))


async def live(life, make, storage, names):
    """Serve a graph, complete the named tasks, and print their final states."""
    app = build_app(make(life), name="dying", options=ServerOptions(storage=storage, limits=LIMITS))
    at_once = SendMessageConfiguration(return_immediately=True)
    life.begin(names[0])  # its task is resumed as soon as the server starts
    async with running(app) as url, connect(url) as client:

        async def say(text, name, task_id=""):
            request = user_message(text, task_id=task_id, context_id=name)
            request.configuration.CopyFrom(at_once)
            return (await anext(aiter(client.send_message(request)))).task.id

        async def done(name):
            found = (await client.list_tasks(ListTasksRequest(context_id=name))).tasks
            task_id = found[0].id if found else await say("go", name)
            while True:
                seen = await client.get_task(GetTaskRequest(id=task_id))
                if seen.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
                    await say(answer_to(seen), name, task_id)
                elif seen.status.state not in WORKS:
                    return seen
                await asyncio.sleep(0.01)

        for name in names:
            life.begin(name)
            seen = await done(name)
            state = TaskState.Name(seen.status.state)
            reason = "".join(part.text for part in seen.status.message.parts)
            counted = Counter(life.effects(name).read_text().split("\n")[:-1])
            print(json.dumps([name, [state, shown(seen) or reason], counted]), flush=True)  # noqa: T201


def lived(life, make, engine, storage, names):
    """Fork a life of the server, which completes these tasks unless it dies."""
    if not (process := os.fork()):
        try:
            life.watch(SAVERS[engine])
            asyncio.run(live(life, make, storage, names))
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def main(kind, engine, storage, *moments):
    """Let the process die at every call in turn; each life completes the work of the last one.

    Without moments it dies at the first one, again and again.
    """
    make = GRAPHS[kind]
    gc.freeze()
    if not moments:
        die_often(make, engine, storage)
        return
    left = ["unharmed"]
    with tempfile.TemporaryDirectory() as folder:
        for number in itertools.count(1):
            for when in moments:
                name = f"{when} {number}"
                life = Life(Path(folder), name, (number, when))
                code = lived(life, make, engine, storage, [*left, name])
                if code == 0:  # there are fewer calls
                    return
                if code != DIED:
                    sys.exit(f"a life ended with {code}")
                left = [name]


def die_often(make, engine, storage):
    """Let five lives die before LangGraph stores anything, then complete the task."""
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(5):
            life = Life(Path(folder), "again", (1, "before"))
            assert lived(life, make, engine, storage, ["again"]) == DIED
        life = Life(Path(folder), "again", None)
        assert lived(life, make, engine, storage, ["again"]) == 0


if __name__ == "__main__":
    main(*sys.argv[1:])
