"""Threads left open by lost tasks: with a question, or in the middle of a step."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import suppress

import pytest
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import CancelTaskRequest, ListTasksRequest, TaskState
from a2a_adapters_langchain import adapt
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from starlette.applications import Starlette
from starlette.routing import Route

from a2a_adapters import as_executor, build_app
from a2a_adapters.concurrency.threads import outliving_calls
from a2a_adapters.protocol.card import build_card
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.langchain.support import answer, ask, call, calling

INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED
REJECTED = TaskState.TASK_STATE_REJECTED


def asking(checkpointer, **options):
    def node(state):
        return {"messages": [("ai", f"hello {interrupt('Your name?')}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("greet", node)
    builder.add_edge(START, "greet")
    return builder.compile(checkpointer=checkpointer, **options)


def greeting(checkpointer):
    def node(state):
        return {"messages": [("ai", f"heard {state['messages'][-1].text}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("greet", node)
    builder.add_edge(START, "greet")
    return builder.compile(checkpointer=checkpointer, interrupt_before=["greet"])


async def tell(graph, *texts, task_id=""):
    """Serve a graph on a temporary server, and return the tasks."""
    async with running(build_app(graph)) as url, connect(url) as client:
        return [
            await send(client, user_message(text, context_id="c", task_id=task_id))
            for text in texts
        ]


@pytest.mark.parametrize("make", [asking, greeting])
async def test_questions_of_lost_tasks_do_not_block_the_conversation(make):
    graph = make(InMemorySaver())
    [before] = await tell(graph, "hi")
    assert before.status.state == INPUT_REQUIRED
    [after] = await tell(graph, "hi again")
    assert after.status.state == INPUT_REQUIRED


@pytest.mark.parametrize("make", [asking, greeting])
async def test_questions_of_waiting_tasks_block_the_conversation(make):
    first, second = await tell(make(InMemorySaver()), "hi", "hi again")
    assert first.status.state == INPUT_REQUIRED
    assert second.status.state == REJECTED


async def test_rejected_tasks_do_not_drop_open_questions():
    graph = asking(InMemorySaver())
    async with running(build_app(graph)) as url, connect(url) as client:
        waiting = await send(client, user_message("hi", context_id="c"))
        other = await send(client, user_message("hi", context_id="d"))
        assert (await send(client, user_message("hi", context_id="c"))).status.state == REJECTED
        for task, name in [(waiting, "Ann"), (other, "Bob")]:
            answered = await send(client, user_message(name, task_id=task.id))
            assert answer_of(answered) == f"hello {name}"


KILLED = """
import asyncio, os, sys
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from a2a_adapters_langchain import adapt
from tests.plugins.langchain.support import ask
from tests.plugins.langchain.test_left_open import agent

def dies():
    os.kill(os.getpid(), 9)

async def main():
    async with AsyncSqliteSaver.from_conn_string(sys.argv[1]) as saver:
        await ask(adapt(agent(saver, dies)), "look it up", context_id="c")

asyncio.run(main())
"""


def agent(saver, tool):
    """Return a graph whose model calls a tool until it has a result, and lists its messages."""

    def look() -> str:
        """Look it up."""
        return tool()

    def model(state):
        messages = state["messages"]
        if messages[-1].text == "look it up":
            return {"messages": [calling(call("look"))]}
        open_calls = {c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls}
        open_calls -= {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
        return {"messages": [AIMessage(f"{len(open_calls)} without a result")]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].tool_calls else "__end__"
    )
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


@pytest.mark.thorough
async def test_tool_calls_of_killed_processes_receive_results(tmp_path):
    database = str(tmp_path / "threads.db")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, database, stderr=subprocess.PIPE
    )
    _, errors = await process.communicate()
    assert process.returncode == -9, errors.decode()
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        events = await ask(adapt(agent(saver, lambda: "found")), "and now?", context_id="c")
    assert answer(events) == "0 without a result"


class Deaf:
    """A graph whose node ignores cancellation for the message "deaf", and waits otherwise."""

    def __init__(self):
        self.begun = {"deaf": asyncio.Event(), "second": asyncio.Event()}
        self.let_go = {"deaf": asyncio.Event(), "second": asyncio.Event()}

    async def node(self, state):
        text = state["messages"][-1].text
        if text in self.begun:
            self.begun[text].set()
            while not self.let_go[text].is_set():
                with suppress(asyncio.CancelledError):
                    await self.let_go[text].wait()
        return {"messages": [("ai", f"{text}: {len(state['messages'])}")]}

    def graph(self, saver):
        builder = StateGraph(MessagesState)
        builder.add_node("node", self.node)
        builder.add_edge(START, "node")
        return builder.compile(checkpointer=saver)


async def test_left_behind_runs_do_not_write_to_the_thread():
    """The next message owns the conversation, and may be in the middle of a step."""
    deaf, saver, others = Deaf(), InMemorySaver(), outliving_calls()
    try:
        async with running(build_app(deaf.graph(saver))) as url, connect(url) as client:

            def say(text):
                return asyncio.create_task(send(client, user_message(text, context_id="c")))

            first = say("deaf")
            await deaf.begun["deaf"].wait()
            listed = await client.list_tasks(ListTasksRequest())
            await client.cancel_task(CancelTaskRequest(id=listed.tasks[0].id))
            then = say("second")
            await deaf.begun["second"].wait()
            before = [step.checkpoint["id"] for step in saver.list(None)]
            deaf.let_go["deaf"].set()
            while outliving_calls() > others:  # noqa: ASYNC110 - nothing tells when it ends
                await asyncio.sleep(0.01)
            assert (await first).status.state == TaskState.TASK_STATE_CANCELED
            assert [step.checkpoint["id"] for step in saver.list(None)] == before
            deaf.let_go["second"].set()
            assert answer_of(await then) == "second: 2"
            assert answer_of(await say("third")) == "third: 4"
    finally:
        for let_go in deaf.let_go.values():
            let_go.set()


def on_the_sdk(graph):
    """Return an app of a2a-sdk's own server, which keeps tasks in memory."""
    executor = as_executor(graph)
    card = build_card(executor.adapter.describe(), "http://placeholder")
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)

    async def served_card(request):
        own = build_card(executor.adapter.describe(), str(request.base_url))
        return await create_agent_card_routes(own)[0].endpoint(request)

    card_route = Route("/.well-known/agent-card.json", served_card)
    return Starlette(routes=[card_route, *create_jsonrpc_routes(handler, "/")])


@pytest.mark.parametrize("make", [asking, greeting])
async def test_questions_of_lost_tasks_do_not_block_conversations_on_the_sdk_server(make, tmp_path):
    database = str(tmp_path / "threads.db")
    async with AsyncSqliteSaver.from_conn_string(database) as saver:
        await ask(adapt(make(saver)), "hi", context_id="c")  # its task is lost
    async with (
        AsyncSqliteSaver.from_conn_string(database) as saver,
        running(on_the_sdk(make(saver))) as url,
        connect(url) as client,
    ):
        waiting = await send(client, user_message("hi", context_id="c"))
        assert waiting.status.state == INPUT_REQUIRED
        answered = await send(client, user_message("yes", task_id=waiting.id))
        assert answered.status.state == TaskState.TASK_STATE_COMPLETED
