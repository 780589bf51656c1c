"""LangChain's runnables and LangGraph's graphs keep the contract of every adapter."""

from __future__ import annotations

import asyncio

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableGenerator, RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite
from tests.plugins.langchain.support import Scripted
from tests.storage.contracts import OnPostgresql


class TestRunnables(AdapterContract):
    def echo(self):
        async def echo(text: str) -> str:
            return text

        return RunnableLambda(echo)

    def silent(self):
        async def silent(text: str) -> str:
            return ""

        return RunnableLambda(silent)

    def failing(self):
        def failing(text: str) -> str:
            raise RuntimeError(self.secret)

        return RunnableLambda(failing)

    def failing_midway(self):
        async def failing_midway(texts):
            async for _ in texts:
                yield "begun"
                raise RuntimeError(self.secret)

        return RunnableGenerator(failing_midway)

    def endless(self):
        async def endless(text: str) -> str:
            await asyncio.Event().wait()

        return RunnableLambda(endless)


def graph(node):
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


class TestGraphs(AdapterContract, InputRequiredContract):
    def echo(self):
        return graph(lambda state: {"messages": [AIMessage(state["messages"][-1].text)]})

    def silent(self):
        return graph(lambda state: {})

    def failing(self):
        def failing(state):
            raise RuntimeError(self.secret)

        return graph(failing)

    def failing_midway(self):
        model = Scripted(script=["begun"])

        async def failing_midway(state):
            await model.ainvoke(state["messages"])
            raise RuntimeError(self.secret)

        return graph(failing_midway)

    def endless(self):
        async def endless(state):
            await asyncio.Event().wait()

        return graph(endless)

    def asking(self):
        return graph(lambda state: {"messages": [AIMessage(interrupt("which city?"))]})


class TestRunnablesOnSqlite(OnSqlite, TestRunnables):
    pass


class TestRunnablesOnPostgresql(OnPostgresql, TestRunnables):
    pass


class TestGraphsOnSqlite(OnSqlite, TestGraphs):
    pass


class TestGraphsOnPostgresql(OnPostgresql, TestGraphs):
    pass
