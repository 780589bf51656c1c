from __future__ import annotations

import asyncio
import threading

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from a2a_adapters import InputRequired, TextDelta
from a2a_adapters.plugin import AgentFailedError
from tests.plugins.langchain.support import (
    Scripted,
    answer,
    ask,
    call,
    calling,
    kinds,
    last_text,
    request,
    run,
)


async def cancel_when(started: asyncio.Event, adapter, asked) -> None:
    """Run until `started`, then cancel as the server does."""
    task = asyncio.create_task(run(adapter, asked))
    await started.wait()
    asked.cancelled.set()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancel_reaches_code_inside_runnables():
    started = asyncio.Event()
    ended: list[str] = []

    async def work(_):
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    await cancel_when(started, adapt(RunnableLambda(work)), request("hi"))
    assert ended == ["cancelled"]


async def test_closing_a_generator_closes_the_inner_ones():
    closed = asyncio.Event()

    async def count(_):
        try:
            for number in range(1000):
                yield str(number)
        finally:
            closed.set()

    events = adapt(RunnableLambda(count)).stream(request("hi"))
    assert await anext(events) == TextDelta("0")
    await events.aclose()
    # LangChain leaves inner generators to the event loop's hook, which runs later.
    assert await asyncio.wait_for(closed.wait(), 60)


async def test_graphs_work_after_a_cancelled_stream():
    gate = asyncio.Event()
    model = Scripted(script=["one two three", last_text], gate=gate)
    adapter = adapt(create_agent(model, tools=[]))
    asked = request("hi")
    events = adapter.stream(asked)
    assert await anext(events) == TextDelta("one")
    asked.cancelled.set()
    await events.aclose()
    gate.set()
    assert answer(await ask(adapter, "again")) == "heard again"
    assert kinds(model.seen[-1]) == "human,human"


@pytest.mark.parametrize("options", [{}, {"checkpointer": InMemorySaver()}])
async def test_interrupted_tool_calls_receive_results(options):
    started = asyncio.Event()

    @tool
    async def slow(n: int) -> str:
        """Block, except for zero."""
        if n:
            started.set()
            await asyncio.Event().wait()
        return "quick"

    model = Scripted(script=[calling(call("slow", "c0", n=0), call("slow", "c1", n=1)), kinds])
    adapter = adapt(create_agent(model, tools=[slow], **options))
    await cancel_when(started, adapter, request("hi"))
    assert answer(await ask(adapter, "again")) == "human,ai,tool,tool,human"
    *_, first, second, _ = model.seen[-1]
    assert {first.tool_call_id, second.tool_call_id} == {"c0", "c1"}
    assert {first.text, second.text} == {"quick", "The tool call was cancelled."}


async def test_conversations_continue_after_a_failed_tool():
    @tool
    def broken(n: int) -> str:
        """Fail."""
        raise RuntimeError("secret detail")

    model = Scripted(script=[calling(call("broken", n=1)), kinds])
    adapter = adapt(create_agent(model, tools=[broken]))
    with pytest.raises(AgentFailedError, match="A tool"):
        await ask(adapter, "hi")
    assert answer(await ask(adapter, "again")) == "human,ai,tool,human"


async def test_failures_during_repair_do_not_hide_the_original_error(caplog):
    class Broken(InMemorySaver):
        is_broken = False

        async def aget_tuple(self, config):
            if self.is_broken:
                raise OSError("no disk")
            return await super().aget_tuple(config)

    saver = Broken()

    async def fail(_):
        saver.is_broken = True
        raise RuntimeError("the real reason")

    builder = StateGraph(MessagesState)
    builder.add_node(fail)
    builder.add_edge(START, "fail")
    with pytest.raises(RuntimeError, match="the real reason"):
        await ask(adapt(builder.compile(checkpointer=saver)), "hi")
    assert "could not repair" in caplog.text


async def test_interrupted_nodes_before_a_breakpoint_are_not_questions():
    started = asyncio.Event()
    runs: list[str] = []

    async def work(_):
        runs.append("work")
        if len(runs) == 1:
            started.set()
            await asyncio.Event().wait()
        return {"messages": [AIMessage("done")]}

    builder = StateGraph(MessagesState)
    builder.add_node(work)
    builder.add_node("never", work)
    builder.add_edge(START, "work")
    adapter = adapt(builder.compile(interrupt_before=["never"]))
    await cancel_when(started, adapter, request("hi"))
    assert answer(await ask(adapter, "again")) == "done"


async def test_closing_the_generator_keeps_its_question():
    @tool
    def ask_back(text: str) -> str:
        """Ask."""
        return str(interrupt(text))

    model = Scripted(script=[calling(call("ask_back", text="Why?")), "done"])
    adapter = adapt(create_agent(model, tools=[ask_back]))
    events = adapter.stream(request("hi"))
    question = [event async for event in events if isinstance(event, InputRequired)][-1]
    await events.aclose()
    again = request("because", resuming=True, resume_metadata=question.metadata)
    assert answer(await run(adapter, again)) == "done"


class Threaded(Scripted):
    """A model that can only stream in a thread."""

    first: threading.Event
    go_on: threading.Event
    ended: threading.Event
    words: list[str]

    _astream = Scripted.__mro__[1]._astream

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        try:
            for word in ("one", "two", "three"):
                self.words.append(word)
                chunk = ChatGenerationChunk(message=AIMessageChunk(content=word))
                yield chunk
                self.first.set()
                self.go_on.wait(timeout=60)
        finally:
            self.ended.set()


async def test_models_in_threads_stop_at_the_next_token():
    model = Threaded(
        script=[],
        first=threading.Event(),
        go_on=threading.Event(),
        ended=threading.Event(),
        words=[],
    )

    def blocking(text):
        return "".join(chunk.text for chunk in model.stream(text))

    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    waiter = threading.Thread(
        target=lambda: (model.first.wait(60), loop.call_soon_threadsafe(started.set))
    )
    waiter.start()
    await cancel_when(started, adapt(RunnableLambda(blocking)), request("hi"))
    model.go_on.set()
    assert await asyncio.to_thread(model.ended.wait, 10)
    waiter.join()
    assert model.words == ["one", "two"]
