"""Agents of six frameworks in one conversation and one trace.

    pip install 'a2a-adapters[agent-framework,google-adk,langchain,openai-agents,pydantic-ai,strands]'
    python examples/six_frameworks/conversation.py

    you  ->  desk (LangGraph)  ->  guide (Google ADK)
                               ->  forecaster (Pydantic AI)
                               ->  researcher (Strands), which is cancelled
                               ->  clerk (Agent Framework), who asks you
                               ->  writer (OpenAI Agents SDK)

Each is an agent of its own with a card; here they share a process, but the desk knows only their
addresses. No network is needed: rules stand in for language models. The spans of all are in one
OpenTelemetry trace, kept in memory.
"""  # noqa: E501 - a command

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from clerk import clerk
from desk import make_desk
from forecaster import forecaster
from guide import guide
from researcher import researcher, stopped
from tracing import spans, trace_in_memory
from writer import writer

from a2a_adapters import RemoteAgent, ServerOptions, build_app
from a2a_adapters.testing import running

TRUSTING = ServerOptions(trust_traces="all")  # on one machine: continue the traces of all callers
SERVED = {
    "guide": guide,
    "forecaster": forecaster,
    "researcher": researcher,
    "clerk": clerk,
    "writer": writer,
}


async def main() -> None:
    tracer = trace_in_memory()
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(running(build_app(SERVED, options=TRUSTING)))
        agents = {
            name: await stack.enter_async_context(RemoteAgent(f"{host}/agents/{name}"))
            for name in SERVED
        }
        app = build_app({"desk": make_desk(agents)}, options=TRUSTING)
        url = f"{await stack.enter_async_context(running(app))}/agents/desk"
        desk = await stack.enter_async_context(RemoteAgent(url))
        with tracer.start_as_current_span("trip"):
            await talk(desk)
        await asyncio.wait_for(stopped.wait(), 10)
    check_traces()


async def talk(desk: RemoteAgent) -> None:
    """Talk to the desk as the traveller."""
    conversation = desk.conversation()
    question = await conversation.send("Rome")
    print(f"desk: {question.question}")
    assert 'book({"city":"Rome"})' in question.question
    answer = await conversation.send("yes")
    print(f"desk: {answer.text}")
    assert answer.text.splitlines() == [
        "Dear Ann,",
        "Rome: the Colosseum, sunny; research canceled",
        "A trip to Rome is booked.",
    ]


def check_traces() -> None:
    """Check that all spans are in one trace, with the requests to all six agents."""
    finished = spans.get_finished_spans()
    assert len({span.context.trace_id for span in finished}) == 1
    paths = [str((span.attributes or {}).get("url.path", "")) for span in finished]
    asked = {path.split("/")[2] for path in paths if path.startswith("/agents/")}
    print(f"one trace of {len(finished)} spans, with requests to {', '.join(sorted(asked))}")
    assert asked == {"desk", *SERVED}
    assert "CancelTask" in {span.name for span in finished}


if __name__ == "__main__":
    asyncio.run(main())
