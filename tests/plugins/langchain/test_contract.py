"""Runnables and graphs fulfil the adapter contract."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableGenerator, RunnableLambda
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite, ToolContract
from tests.plugins.langchain.support import Scripted, call, calling
from tests.support.agents.contracts import OnPostgresql


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


@tool
def breaks() -> str:
    """Fail."""
    raise RuntimeError(ToolContract.secret)


@tool
def glance() -> str:
    """Look quickly."""
    return "rain"


@tool
async def look() -> str:
    """Look around."""
    return "rain"


class TestRunnablesWithTools(ToolContract):
    def using_tools(self):
        async def use(text):
            with suppress(RuntimeError):
                await breaks.ainvoke({})
            return await look.ainvoke({})

        return RunnableLambda(use)

    def ended_by_a_tool(self):
        async def use(_text):
            await look.ainvoke({})
            return await breaks.ainvoke({})

        return RunnableLambda(use)


def looping(tools, *script, errors=True):
    model = Scripted(script=list(script))

    async def think(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", think)
    builder.add_node("tools", ToolNode(tools, handle_tool_errors=errors))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile()


class TestGraphsWithTools(ToolContract):
    def using_tools(self):
        return looping([look, breaks], calling(call("look"), call("breaks", "c2")), "done")

    def ended_by_a_tool(self):
        both = calling(call("look"), call("breaks", "c2"))
        return looping([look, breaks], both, errors=False)


class TestGraphsWithAgentsAsTools(ToolContract):
    """Tools that run an agent themselves, such as the `task` of deepagents."""

    def using_tools(self):
        inner = looping([glance], calling(call("glance", "inner")), "rain")

        @tool
        async def look(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
            """Have an agent look."""
            found = await inner.ainvoke({"messages": ["look"]})
            answer = ToolMessage(found["messages"][-1].text, tool_call_id=tool_call_id)
            return Command(update={"messages": [answer]})

        @tool
        async def breaks() -> str:
            """Have an agent look, and fail."""
            await inner.ainvoke({"messages": ["look"]})
            raise RuntimeError(self.secret)

        both = calling(call("look"), call("breaks", "c2"))
        return graph(looping([look, breaks], both, "done"))


class TestRunnablesOnSqlite(OnSqlite, TestRunnables):
    pass


class TestRunnablesOnPostgresql(OnPostgresql, TestRunnables):
    pass


class TestGraphsOnSqlite(OnSqlite, TestGraphs):
    pass


class TestGraphsOnPostgresql(OnPostgresql, TestGraphs):
    pass
