"""A node that suspends its graph while a remote task runs."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_langchain import A2ATaskNode
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from a2a_adapters import RemoteAgent, RemoteTaskError, RemoteTimeoutError
from tests.calling.slow_agents import QUESTION, slow_agent
from tests.plugins.webhooks.agents import receiver, sender


def graph_of(node, saver):
    builder = StateGraph(MessagesState)
    builder.add_node("remote", node)
    builder.add_edge(START, "remote")
    return builder.compile(checkpointer=saver)


def thread(name):
    return {"configurable": {"thread_id": name}}


def said(text):
    return {"messages": [("user", text)]}


async def test_another_process_resumes_the_graph_when_the_task_has_ended():
    saver = InMemorySaver()
    async with slow_agent("ours") as (card, gate), RemoteAgent(card) as agent:
        graph = graph_of(A2ATaskNode(agent), saver)
        suspended = await graph.ainvoke(said("ping"), thread("a"))
        [pending] = suspended["__interrupt__"]
        assert pending.value["question"] == ""
        node = A2ATaskNode(agent)
        other = graph_of(node, saver)
        with pytest.raises(RemoteTimeoutError):
            await node.resume(other, thread("a"), timeout=0.05)
        gate.open()
        done = await node.resume(other, thread("a"))
        assert done["messages"][-1].text == "pong"
        assert [task.id async for task in agent.tasks()] == [pending.value["a2a_task"]]


async def test_a_graph_that_is_resumed_too_early_is_suspended_again():
    async with slow_agent("ours") as (card, gate), RemoteAgent(card) as agent:
        node = A2ATaskNode(agent)
        graph = graph_of(node, InMemorySaver())
        await graph.ainvoke(said("ping"), thread("a"))
        for _ in range(3):
            again = await graph.ainvoke(Command(resume=True), thread("a"))
            assert again["__interrupt__"]
        gate.open()
        done = await node.resume(graph, thread("a"))
        assert done["messages"][-1].text == "pong"
        assert len([task async for task in agent.tasks()]) == 1


async def test_a_question_is_answered_by_what_resumes_the_graph():
    async with slow_agent("ours") as (card, _), RemoteAgent(card) as agent:
        node = A2ATaskNode(agent)
        graph = graph_of(node, InMemorySaver())
        suspended = await graph.ainvoke(said("book"), thread("a"))
        while not suspended["__interrupt__"][0].value["question"]:
            suspended = await node.resume(graph, thread("a"))
        assert suspended["__interrupt__"][0].value["question"] == QUESTION
        done = await graph.ainvoke(Command(resume="Rome"), thread("a"))
        while "__interrupt__" in done:
            done = await node.resume(graph, thread("a"))
        assert done["messages"][-1].text == "Booked: Rome"


async def test_a_failed_task_fails_the_graph():
    async with slow_agent("ours") as (card, _), RemoteAgent(card) as agent:
        node = A2ATaskNode(agent)
        graph = graph_of(node, InMemorySaver())

        async def run():
            await graph.ainvoke(said("fail"), thread("a"))
            await node.resume(graph, thread("a"))

        with pytest.raises(RemoteTaskError):
            await run()


async def test_threads_have_their_own_tasks():
    async with slow_agent("ours") as (card, gate), RemoteAgent(card) as agent:
        node = A2ATaskNode(agent)
        graph = graph_of(node, InMemorySaver())
        await asyncio.gather(*(graph.ainvoke(said("ping"), thread(name)) for name in "abc"))
        gate.open()
        done = await asyncio.gather(*(node.resume(graph, thread(name)) for name in "abc"))
        assert {each["messages"][-1].text for each in done} == {"pong"}
        assert len({each["messages"][-1].id for each in done}) == 3


async def test_a_notification_resumes_the_graph():
    async with sender("ours") as (card, gate), receiver() as (hook, _), RemoteAgent(card) as agent:
        node = A2ATaskNode(agent, notify=hook)
        graph = graph_of(node, InMemorySaver())
        await graph.ainvoke(said("ping"), thread("a"))
        async with asyncio.TaskGroup() as group:
            resuming = group.create_task(node.resume(graph, thread("a")))
            await hook.is_awaited.wait()
            gate.open()
        assert resuming.result()["messages"][-1].text == "pong"
