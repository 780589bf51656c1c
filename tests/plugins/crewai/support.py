"""A fake model, crews with it, and the driver that plays the server core."""

from __future__ import annotations

import json
import re
import threading
from contextlib import aclosing, asynccontextmanager
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

from a2a.types import Message
from crewai import LLM, Agent, Crew, Task
from crewai.events.types.llm_events import LLMCallType
from crewai.llms.base_llm import BaseLLM, llm_call_context
from pydantic import Field
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from a2a_adapters import AgentRequest, InputRequired, Output, Text
from a2a_adapters.testing import running
from tests.support import adapters

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters import AgentEvent, Part
    from a2a_adapters.plugin import Adapter

USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


class Scripted(BaseLLM):
    """Answers with the items of a script in turn: text or functions of the prompt."""

    script: list[Any]
    seen: list[str] = Field(default_factory=list)
    gate: Any = None
    """A `threading.Event` that every call waits for."""
    calling: Any = None
    """A `threading.Event` that every call sets."""

    def __init__(self, *script: Any, **fields: Any) -> None:
        super().__init__(model="scripted", script=list(script), **fields)

    def call(
        self,
        messages,
        tools=None,
        callbacks=None,
        available_functions=None,
        from_task=None,
        from_agent=None,
        response_model=None,
    ):
        prompt = text_of_messages(messages)
        line = self.script[min(len(self.seen), len(self.script) - 1)]
        self.seen.append(prompt)
        if self.calling:
            self.calling.set()
        if self.gate:
            self.gate.wait(60)
        text = line(prompt) if callable(line) else line
        about = {"from_task": from_task, "from_agent": from_agent}
        with llm_call_context():
            self._emit_call_started_event(messages, **about)
            for word in text.split(" ") if self._effective_stream() else ():
                self._emit_stream_chunk_event(
                    chunk=f"{word} ", call_type=LLMCallType.LLM_CALL, **about
                )
            self._emit_call_completed_event(
                response=text, call_type=LLMCallType.LLM_CALL, usage=dict(USAGE), **about
            )
        return text

    def supports_function_calling(self):
        return False

    def get_input_tokens_count(self, *_: Any, **__: Any) -> int:
        return 1


class Call(NamedTuple):
    """A model's native tool call."""

    name: str
    preamble: str = ""


@asynccontextmanager
async def openai_model(*script: str | Call, **fields: Any):
    """Yield crewai's own client of a server that streams the script's lines in turn, in cycles."""
    lines = cycle(script)

    async def stream():
        line = next(lines)
        text = line.preamble if isinstance(line, Call) else line
        deltas = [{"content": word} for word in re.findall(r"\S+\s*|\s+", text)]
        if isinstance(line, Call):
            functions = [{"name": line.name, "arguments": ""}, {"arguments": "{}"}]
            calls = [{"index": 0, "id": "c", "function": function} for function in functions]
            deltas += [{"tool_calls": [call]} for call in calls]
        for delta in deltas:
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            yield f"data: {json.dumps({'id': 'r', 'choices': [choice]})}\n\n"
        yield "data: [DONE]\n\n"

    async def complete(_):
        return StreamingResponse(stream(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    async with running(app) as url:
        yield LLM(model="openai/gpt-4o", base_url=f"{url}/v1", api_key="key", stream=True, **fields)


def text_of_messages(messages: Any) -> str:
    """Return a prompt as text."""
    if isinstance(messages, str):
        return messages
    return "\n".join(str(message.get("content")) for message in messages)


def value_of(name: str) -> Callable[[str], str]:
    """Return a function that answers with the part of the prompt after `name=`."""

    def find(prompt: str) -> str:
        found = re.search(rf"{name}=<(.*?)>", prompt, re.DOTALL)
        assert found, prompt
        return f"Final Answer: {found[1]}"

    return find


def tool_call(name: str, arguments: str) -> str:
    """Return a tool call as text."""
    return f"Thought: a secret thought\nAction: {name}\nAction Input: {arguments}"


def observed(prompt: str) -> list[str]:
    """Return the first lines of the tool results in a prompt."""
    _, _, talk = prompt.rpartition("Begin!")
    return [part.splitlines()[0] for part in talk.split("\nObservation: ")[1:]]


def agent(llm: Any, **fields: Any) -> Agent:
    """Return an agent."""
    fields = {"role": "Writer", "goal": "Write well", "backstory": "A secret past", **fields}
    return Agent(llm=llm, **fields)


def task(writer: Agent, description: str = "topic=<{topic}>", **fields: Any) -> Task:
    """Return a task."""
    return Task(description=description, expected_output="text", agent=writer, **fields)


def crew(*script: Any, description: str = "topic=<{topic}>", **fields: Any) -> Crew:
    """Return a crew of one agent with one task, whose model follows the script."""
    writer = agent(Scripted(*(script or [value_of("topic")])))
    return Crew(agents=[writer], tasks=[task(writer, description, **fields)])


def request(*parts: Part | str, **fields: Any) -> AgentRequest:
    """Return a request as the core makes it."""
    fields = {"task_id": "task", "context_id": "context", "message": Message(), **fields}
    return AgentRequest(
        parts=[Text(part) if isinstance(part, str) else part for part in parts], **fields
    )


async def run(adapter: Adapter, asked: AgentRequest) -> list[AgentEvent]:
    """Return all events of one request, closing the generator as the core does."""
    async with aclosing(adapter.stream(asked)) as events:
        return [event async for event in events]


async def ask(adapter: Adapter, *parts: Part | str, **fields: Any) -> list[AgentEvent]:
    """Send a message and return its events."""
    return await run(adapter, request(*parts, **fields))


async def question(events: Any) -> InputRequired:
    """Return the next question of a run."""
    async for event in events:
        if isinstance(event, InputRequired):
            return event
    raise AssertionError("it asked nothing")


def answer(events: list[AgentEvent]) -> str:
    """Return the text of all outputs and of the answer, one per line."""
    outputs = [event for event in events if isinstance(event, Output)]
    texts = [p.text for o in outputs for p in o.parts if isinstance(p, Text)]
    return "\n".join(filter(None, [*texts, adapters.answer(events)]))


def only(events: list[AgentEvent], kind: Any) -> Any:
    """Return the one event of a kind."""
    (event,) = [event for event in events if isinstance(event, kind)]
    return event


def gates() -> dict[str, threading.Event]:
    """Return the events that hold a model in the middle of a call."""
    return {"gate": threading.Event(), "calling": threading.Event()}
