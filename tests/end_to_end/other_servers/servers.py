"""Agents on servers of other projects, as their documentation sets them up: `servers.py NAME PORT`.

Each runs in an environment of its own and imports only what is installed there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import uvicorn

WORDS = ("one ", "two ", "three")


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def run(app: object, port: int) -> None:
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def sdk_executor():
    """Return an executor that streams the words as chunks of one artifact, on both SDKs."""
    from a2a.server.agent_execution import AgentExecutor
    from a2a.server.tasks import TaskUpdater
    from a2a.types import Part

    def text(word: str) -> Part:
        if hasattr(Part, "DESCRIPTOR"):
            return Part(text=word)
        from a2a.types import TextPart

        return Part(root=TextPart(text=word))

    class Words(AgentExecutor):
        async def execute(self, context, event_queue):
            updater = TaskUpdater(event_queue, context.task_id, context.context_id)
            if not context.current_task:
                await event_queue.enqueue_event(new_task(context.message, updater))
            await updater.start_work()
            for number, word in enumerate(WORDS):
                await updater.add_artifact(
                    [text(word)],
                    artifact_id="words",
                    append=number > 0,
                    last_chunk=number == len(WORDS) - 1,
                )
            await updater.complete()

        async def cancel(self, context, event_queue):
            updater = TaskUpdater(event_queue, context.task_id, context.context_id)
            await updater.cancel()

    return Words()


def new_task(message, updater):
    from a2a.types import Task, TaskState, TaskStatus

    state = getattr(TaskState, "submitted", None) or TaskState.TASK_STATE_SUBMITTED
    return Task(
        id=updater.task_id,
        context_id=updater.context_id,
        status=TaskStatus(state=state),
        history=[message],
    )


def skill():
    from a2a.types import AgentSkill

    return AgentSkill(id="words", name="Words", description="Says words.", tags=["words"])


def sdk(port: int) -> None:
    """Serve JSON-RPC and REST on one port and gRPC on the next."""
    import asyncio

    import grpc
    from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
    from a2a.server.routes import (
        create_agent_card_routes,
        create_jsonrpc_routes,
        create_rest_routes,
    )
    from a2a.server.tasks import InMemoryTaskStore
    from a2a.types import AgentCapabilities, AgentCard, AgentInterface
    from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
    from starlette.applications import Starlette

    addresses = {
        "JSONRPC": f"{url(port)}/",
        "HTTP+JSON": f"{url(port)}/rest",
        "GRPC": f"127.0.0.1:{port + 1}",
    }
    card = AgentCard(
        name="words",
        description="Says words.",
        version="1.0.0",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True),
        skills=[skill()],
        supported_interfaces=[
            AgentInterface(url=address, protocol_binding=binding, protocol_version="1.0")
            for binding, address in addresses.items()
        ],
    )
    handler = DefaultRequestHandler(sdk_executor(), InMemoryTaskStore(), card)
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/"),
        *create_rest_routes(handler, path_prefix="/rest"),
    ]

    async def serve() -> None:
        server = grpc.aio.server()
        add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
        server.add_insecure_port(f"127.0.0.1:{port + 1}")
        await server.start()
        config = uvicorn.Config(Starlette(routes=routes), port=port, log_level="warning")
        await uvicorn.Server(config).serve()

    asyncio.run(serve())


def old_card(port: int, transport: str):
    from a2a.types import AgentCapabilities, AgentCard

    return AgentCard(
        name="words",
        description="Says words.",
        version="1.0.0",
        url=f"{url(port)}/",
        preferred_transport=transport,
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True),
        skills=[skill()],
    )


def old_handler():
    from a2a.server.request_handlers import DefaultRequestHandler
    from a2a.server.tasks import InMemoryTaskStore

    return DefaultRequestHandler(sdk_executor(), InMemoryTaskStore())


def old_sdk(port: int) -> None:
    from a2a.server.apps import A2AStarletteApplication

    run(A2AStarletteApplication(old_card(port, "JSONRPC"), old_handler()).build(), port)


def old_sdk_rest(port: int) -> None:
    from a2a.server.apps import A2ARESTFastAPIApplication

    run(A2ARESTFastAPIApplication(old_card(port, "HTTP+JSON"), old_handler()).build(), port)


def agno(port: int) -> None:
    from agno.agent import Agent
    from agno.models.base import Model
    from agno.models.response import ModelResponse
    from agno.os import AgentOS
    from agno.os.interfaces.a2a import A2A

    class Words(Model):
        def invoke(self, *_, **__):
            return ModelResponse(role="assistant", content="".join(WORDS))

        async def ainvoke(self, *_, **__):
            return self.invoke()

        def invoke_stream(self, *_, **__):
            for word in WORDS:
                yield ModelResponse(role="assistant", content=word)

        async def ainvoke_stream(self, *_, **__):
            for word in WORDS:
                yield ModelResponse(role="assistant", content=word)

        def _parse_provider_response(self, response, **_):
            return response

        def _parse_provider_response_delta(self, response):
            return response

    agent = Agent(id="words", name="words", description="Says words.", model=Words(id="words"))
    served = AgentOS(agents=[agent], interfaces=[A2A(agents=[agent])], telemetry=False)
    run(served.get_app(), port)


def a2akit(port: int) -> None:
    from a2akit import A2AServer, AgentCardConfig, TaskContext, Worker

    class Words(Worker):
        async def handle(self, ctx: TaskContext) -> None:
            for word in WORDS:
                await ctx.emit_text_artifact(text=word, append=word != WORDS[0])
            await ctx.complete()

    card = AgentCardConfig(name="words", description="Says words.", version="0.1.0")
    run(A2AServer(worker=Words(), agent_card=card).as_fastapi_app(), port)


def ag2(port: int) -> None:
    from ag2 import Agent
    from ag2.a2a import A2AServer
    from ag2.testing import TestConfig

    agent = Agent("words", config=TestConfig(*["".join(WORDS)] * 100))
    run(A2AServer(agent).build_jsonrpc(url=f"{url(port)}/"), port)


def beeai(port: int) -> None:
    from beeai_framework.adapters.a2a.serve.server import A2AServer, A2AServerConfig
    from beeai_framework.agents.requirement import RequirementAgent
    from beeai_framework.backend import AssistantMessage, ChatModelOutput
    from beeai_framework.backend.chat import ChatModel

    class Words(ChatModel):
        model_id = "words"
        provider_id = "ollama"

        async def _create(self, _input, _run):
            return ChatModelOutput(output=[AssistantMessage("".join(WORDS))])

        async def _create_stream(self, _input, _run):
            for word in WORDS:
                yield ChatModelOutput(output=[AssistantMessage(word)])

    agent = RequirementAgent(llm=Words(), name="words", description="Says words.")
    server = A2AServer(config=A2AServerConfig(host="127.0.0.1", port=port))
    server.register(agent, send_trajectory=False)
    server.serve()


def python_a2a(port: int) -> None:
    from python_a2a import A2AServer, TaskState, TaskStatus, agent, run_server

    @agent(name="words", description="Says words.", version="1.0.0")
    class Words(A2AServer):
        def handle_task(self, task):
            task.artifacts = [{"parts": [{"type": "text", "text": "".join(WORDS)}]}]
            task.status = TaskStatus(state=TaskState.COMPLETED)
            return task

    run_server(Words(url=url(port)), host="127.0.0.1", port=port)


def a2a_adapter(port: int) -> None:
    from a2a_adapter import CallableAdapter, serve_agent

    async def words(_inputs) -> str:
        return "".join(WORDS)

    serve_agent(CallableAdapter(words), port=port)


SERVERS: dict[str, Callable[[int], None]] = {
    each.__name__: each
    for each in (sdk, old_sdk, old_sdk_rest, agno, a2akit, ag2, beeai, python_a2a, a2a_adapter)
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](int(sys.argv[2]))
