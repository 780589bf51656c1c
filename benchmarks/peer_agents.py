"""The same agent behind a framework's own A2A server or ours: `python peer_agents.py NAME PORT`.

The agent's scripted model acts by the last word of its user: `words`, `recall`, `look`, `book`,
`fail`, `bomb` or `wait`. `wait` creates the file `started` in FOLDER and, when it is cancelled,
`stopped`. If GUARDED is set, a guardrail of the framework replaces what the model says of bombs.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import uvicorn

WORDS = ["one", " two", " three", " four", " five"]
FORBIDDEN = ["how to ", "build ", "a bomb"]
REFUSAL = "I cannot help."
IS_GUARDED = "GUARDED" in os.environ
SECRET = "postgresql://admin:hunter2@db"


async def act(said: list[str], results: list[str]):
    """Yield texts, or the name of a tool to call, for the messages of the user so far."""
    match said[-1]:
        case _ if results:
            yield f"{results[0]}."
        case "recall":
            yield ", ".join(said[:-1])
        case "look":
            yield "Let me look. "
            yield ("look",)
        case "book":
            yield ("book",)
        case "fail":
            raise RuntimeError(f"cannot reach {SECRET}")
        case "bomb":
            for word in FORBIDDEN:
                yield word
        case "wait":
            try:
                yield "Waiting"
                mark("started")
                await asyncio.Event().wait()
            finally:
                mark("stopped")
        case _:
            for word in WORDS:
                yield word


def mark(name: str) -> None:
    Path(os.environ["FOLDER"], name).touch()


def agent_framework():
    from agent_framework import (
        Agent,
        AgentResponse,
        BaseChatClient,
        ChatMiddlewareLayer,
        ChatResponse,
        ChatResponseUpdate,
        Content,
        FunctionInvocationLayer,
        Message,
        ResponseStream,
        agent_middleware,
        tool,
    )

    class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
        def _inner_get_response(self, *, messages, stream, **_):
            answer = ResponseStream(self.updates(messages), finalizer=ChatResponse.from_updates)
            return answer if stream else answer.get_final_response()

        async def updates(self, messages):
            said = [each.text for each in messages if each.role == "user" and each.text]
            contents = messages[-1].contents
            results = [str(each.result) for each in contents if each.type == "function_result"]
            async for made in act(said, results):
                if isinstance(made, str):
                    content = Content.from_text(made)
                else:
                    content = Content.from_function_call("1", made[0], arguments={})
                yield ChatResponseUpdate(contents=[content], role="assistant")
                await asyncio.sleep(0.01)

    @tool
    def look() -> str:
        """Look out of the window."""
        return "It rains"

    @tool(approval_mode="always_require")
    def book() -> str:
        """Book a trip."""
        return "It is booked"

    @agent_middleware
    async def guard(context, call_next):
        await call_next()
        if "bomb" in context.result.text:
            context.result = AgentResponse(messages=[Message("assistant", [REFUSAL])])

    return Agent(
        client=Scripted(),
        name="helper",
        description="Helps.",
        tools=[look, book],
        middleware=[guard] if IS_GUARDED else None,
    )


def agent_framework_own(port: int):
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
    from a2a.server.tasks import InMemoryTaskStore
    from a2a.types import AgentCapabilities, AgentCard, AgentInterface
    from agent_framework.a2a import A2AExecutor
    from starlette.applications import Starlette

    url = f"http://127.0.0.1:{port}/"
    card = AgentCard(
        name="helper",
        description="Helps.",
        version="1.0.0",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
    )
    executor = A2AExecutor(agent_framework(), stream=True)
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
    return Starlette(routes=routes)


def strands(_context_id: str = ""):  # noqa: C901 - a model, its tools and a guardrail
    from strands import Agent, tool
    from strands.hooks import MessageAddedEvent
    from strands.models import Model

    class Scripted(Model):
        def get_config(self):
            return {}

        def update_config(self, **model_config):
            pass

        def structured_output(self, *arguments, **options):
            raise NotImplementedError

        async def stream(self, messages, *_, **__):
            blocks = [b for each in messages if each["role"] == "user" for b in each["content"]]
            said = [block["text"] for block in blocks if "text" in block]
            found = [b["toolResult"] for b in messages[-1]["content"] if "toolResult" in b]
            results = [each["content"][0]["text"] for each in found]
            reason = "end_turn"
            yield {"messageStart": {"role": "assistant"}}
            async for made in act(said, results):
                if isinstance(made, str):
                    yield {"contentBlockStart": {"start": {}}}
                    yield {"contentBlockDelta": {"delta": {"text": made}}}
                else:
                    reason = "tool_use"
                    use = {"name": made[0], "toolUseId": f"use-{len(messages)}"}
                    yield {"contentBlockStart": {"start": {"toolUse": use}}}
                    yield {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}}
                yield {"contentBlockStop": {}}
                await asyncio.sleep(0.01)
            yield {"messageStop": {"stopReason": reason}}

    @tool
    def look() -> str:
        """Look out of the window."""
        return "It rains"

    @tool(context=True)
    def book(tool_context) -> str:
        """Book a trip."""
        return f"It is booked: {tool_context.interrupt('sure', 'Shall I book it?')}"

    def guard(event: MessageAddedEvent) -> None:
        if event.message["role"] == "assistant" and "bomb" in str(event.message):
            event.message["content"] = [{"text": REFUSAL}]

    agent = Agent(
        model=Scripted(),
        name="helper",
        description="Helps.",
        tools=[look, book],
        callback_handler=None,
    )
    if IS_GUARDED:
        agent.hooks.add_callback(MessageAddedEvent, guard)
    return agent


def strands_own(port: int):
    from strands.multiagent.a2a import A2AServer

    url = f"http://127.0.0.1:{port}/"
    server = A2AServer(
        agent_factory=strands, http_url=url, port=port, enable_a2a_compliant_streaming=True
    )
    return server.to_starlette_app()


def google_adk():
    from google.adk.agents.llm_agent import LlmAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.adk.tools.function_tool import FunctionTool
    from google.genai.types import Content, FunctionCall, Part

    def saying(*parts, partial=None):
        return LlmResponse(content=Content(role="model", parts=parts), partial=partial)

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request, stream=False):
            contents = llm_request.contents
            parts = [part for each in contents if each.role == "user" for part in each.parts]
            said = [part.text for part in parts if part.text]
            found = [each.function_response for each in contents[-1].parts]
            results = [str(each.response["result"]) for each in found if each]
            text, calls = "", []
            async for made in act(said, results):
                if isinstance(made, str):
                    text += made
                    if stream:
                        yield saying(Part(text=made), partial=True)
                else:
                    call = FunctionCall(id=f"call-{len(contents)}", name=made[0], args={})
                    calls.append(Part(function_call=call))
                await asyncio.sleep(0.01)
            yield saying(*([Part(text=text)] if text else []), *calls)

    def look() -> str:
        """Look out of the window."""
        return "It rains"

    def book() -> str:
        """Book a trip."""
        return "It is booked"

    def guard(callback_context, llm_response):  # noqa: ARG001 - passed by name
        parts = llm_response.content.parts if llm_response.content else []
        is_forbidden = any("bomb" in (part.text or "") for part in parts)
        return saying(Part(text=REFUSAL)) if is_forbidden and not llm_response.partial else None

    return LlmAgent(
        model=Scripted(model="scripted"),
        name="helper",
        description="Helps.",
        tools=[look, FunctionTool(book, require_confirmation=True)],
        after_model_callback=guard if IS_GUARDED else None,
    )


def google_adk_own(port: int):
    from google.adk.a2a.utils.agent_to_a2a import to_a2a

    return to_a2a(google_adk(), host="127.0.0.1", port=port)


def pydantic_ai():
    from pydantic_ai import Agent, DeferredToolRequests, TextPart, ToolCallPart, UserPromptPart
    from pydantic_ai.capabilities import Hooks
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.function import DeltaToolCall, FunctionModel

    def answer(messages):
        parts = [part for message in messages for part in message.parts]
        said = [part.content for part in parts if isinstance(part, UserPromptPart)]
        said = ["".join(each) if isinstance(each, list) else each for each in said]
        ends = messages[-1].parts
        results = [str(part.content) for part in ends if part.part_kind == "tool-return"]
        return act(said, results)

    async def streamed(messages, _):
        async for made in answer(messages):
            yield made if isinstance(made, str) else {1: DeltaToolCall(made[0], "{}")}
            await asyncio.sleep(0.01)

    async def whole(messages, _):
        made = [each async for each in answer(messages)]
        calls = [ToolCallPart(each[0], {}) for each in made if not isinstance(each, str)]
        text = "".join(each for each in made if isinstance(each, str))
        return ModelResponse(parts=[*([TextPart(text)] if text else []), *calls])

    async def guard(_ctx, *, request_context, response):  # noqa: ARG001 - passed by name
        is_forbidden = "bomb" in str(response.parts)
        return ModelResponse(parts=[TextPart(REFUSAL)]) if is_forbidden else response

    agent = Agent(
        FunctionModel(whole, stream_function=streamed),
        name="helper",
        output_type=[str, DeferredToolRequests],
        capabilities=[Hooks(after_model_request=guard)] if IS_GUARDED else [],
    )

    @agent.tool_plain
    def look() -> str:
        """Look out of the window."""
        return "It rains"

    @agent.tool_plain(requires_approval=True)
    def book() -> str:
        """Book a trip."""
        return "It is booked"

    return agent


def pydantic_ai_own(port: int):
    from fasta2a.pydantic_ai import agent_to_a2a

    return agent_to_a2a(pydantic_ai(), name="helper", url=f"http://127.0.0.1:{port}")


def ours(agent):
    from a2a_adapters import build_app

    return build_app(agent)


SERVERS = {
    "agent-framework": agent_framework_own,
    "agent-framework, ours": lambda _: ours(agent_framework()),
    "strands": strands_own,
    "strands, ours": lambda _: ours(strands),
    "google-adk": google_adk_own,
    "google-adk, ours": lambda _: ours(google_adk()),
    "pydantic-ai": pydantic_ai_own,
    "pydantic-ai, ours": lambda _: ours(pydantic_ai()),
}

if __name__ == "__main__":
    name, port = sys.argv[1], int(sys.argv[2])
    uvicorn.run(SERVERS[name](port), host="127.0.0.1", port=port, log_level="warning")
